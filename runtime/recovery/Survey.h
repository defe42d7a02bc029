// What the members of a recovery hold together.

#ifndef ETC_RUNTIME_RECOVERY_SURVEY_H
#define ETC_RUNTIME_RECOVERY_SURVEY_H

#include "recovery/RecoveryMember.h"
#include "state/checkpoint/BoxSource.h"
#include "state/inventory/Inventory.h"

namespace etc::runtime {

/// A checkpoint, and the step that it is of.
struct VersionedCheckpoint {
  const BoxSource *checkpoint; // not owned
  int64_t version;
};

/// The state that a recovery goes on with: of one version, and complete.
struct Survey {
  int64_t version = 0;
  Side side = Side::Prev;          // whose shapes tensors have
  Survivors survivors;             // by rank of the plan: those of the version
  Inventory inventory;             // by rank, with what is to be restored
  std::vector<TensorBox> restored; // from the checkpoint
  std::vector<uint32_t> dropped;   // devices whose state is of another version
};

/// The first plan by which all members that hold state say what they hold.
/// Where there is none, the error is of kind Usage.
Result<uint64_t> findCommonPlan(const std::vector<RecoveryMember> &members);

/// Takes the newest version of which every element has a holder, or is in the
/// checkpoint of that version. The same members give the same survey, on any
/// machine. Where no version is complete, the error is of kind Usage and names
/// what is lost of the newest one.
Result<Survey> survey(const PlanIndex &index, uint64_t plan,
                      const std::vector<RecoveryMember> &members,
                      std::optional<VersionedCheckpoint> checkpoint);

} // namespace etc::runtime

#endif // ETC_RUNTIME_RECOVERY_SURVEY_H
