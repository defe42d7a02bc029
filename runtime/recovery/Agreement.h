// Who goes on after a failure.

#ifndef ETC_RUNTIME_RECOVERY_AGREEMENT_H
#define ETC_RUNTIME_RECOVERY_AGREEMENT_H

#include "job/Rendezvous.h"
#include "recovery/RecoveryMember.h"

#include <functional>

namespace etc::runtime {

struct AgreementOptions {
  RecoveryMember self;
  /// The devices whose processes may come, ascending.
  std::vector<uint32_t> expected;
  /// Of the last agreement that this process was part of; 0: of none.
  uint32_t generation = 0;
  /// After so long whoever is not there is given up, but not before half of it
  /// has passed since the last one came. Time in which the store has no answer,
  /// because its hub failed, does not count.
  Milliseconds patience{};
  /// When there has to be an agreement.
  Deadline deadline{Milliseconds(0)};
  /// Not owned.
  Rendezvous *rendezvous = nullptr;
  /// Whether these members can go on. Who cannot is not agreed upon.
  std::function<Status(const std::vector<RecoveryMember> &)> check;
};

struct Agreement {
  uint32_t generation = 0;
  std::vector<RecoveryMember> members; // by device, ascending
};

/// Agreements are numbered, and each is one value that is written once: whoever
/// reads it reads the same. A process that holds state writes it when all that
/// are expected are there, or when its patience is over and those that are
/// there can go on. A process that holds nothing never does; it joins the next
/// one that there is.
///
/// Errors are of kind Excluded where the others went on without this process,
/// and of kind Peer where there is no agreement in time.
Result<Agreement> agree(const AgreementOptions &options);

/// Where the members of an agreement leave something for each other.
std::string keyOf(uint32_t generation, const std::string &name);

/// The text of an agreement's members, and back.
std::string formatMembers(const std::vector<RecoveryMember> &members);
std::optional<std::vector<RecoveryMember>> parseMembers(std::string_view text);

} // namespace etc::runtime

#endif // ETC_RUNTIME_RECOVERY_AGREEMENT_H
