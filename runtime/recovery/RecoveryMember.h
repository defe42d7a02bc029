// What a process says of itself when survivors of a failure meet.

#ifndef ETC_RUNTIME_RECOVERY_RECOVERYMEMBER_H
#define ETC_RUNTIME_RECOVERY_RECOVERYMEMBER_H

#include "core/journal/Journal.h"
#include "core/plan/PlanIndex.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etc::runtime {

/// What a device holds, told by a plan: what it does of the plan's two states
/// after so much of the migration.
struct Claim {
  uint64_t plan; // its fingerprint
  Standing standing;
};

/// A process that takes part in a recovery. Where it holds a whole state, that
/// may be the end of one plan and the beginning of the next: each is a claim.
struct RecoveryMember {
  uint32_t device = 0;
  /// A number of the process that no other one has: a device may get a new
  /// process.
  uint64_t process = 0;
  int64_t version = 0; // the trainer's step that the state is of
  std::vector<Claim> claims;

  bool holdsNothing() const { return claims.empty(); }
};

/// The standing of a device that has all of a plan's previous state, or all of
/// its current one after `rounds` rounds.
Standing standingBefore();
Standing standingAfter(uint32_t rounds);

/// The same of a rank of a plan that has all of one side.
Standing standingAt(const plan::PlanIndex &index, uint32_t rank,
                    plan::Side side);

/// The number of this process, the same at every call; a fork has its own.
uint64_t processNumber();

/// One line, and back; nothing where it is none.
std::string formatMember(const RecoveryMember &member);
std::optional<RecoveryMember> parseMember(std::string_view line);

/// The most claims that a member makes.
constexpr uint32_t kMostClaims = 8;

} // namespace etc::runtime

#endif // ETC_RUNTIME_RECOVERY_RECOVERYMEMBER_H
