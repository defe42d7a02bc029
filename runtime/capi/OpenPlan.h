// A plan in memory, with what migrations look up in it.

#ifndef ETC_RUNTIME_CAPI_OPENPLAN_H
#define ETC_RUNTIME_CAPI_OPENPLAN_H

#include "core/plan/Fingerprint.h"
#include "core/plan/PlanFile.h"
#include "core/plan/PlanIndex.h"
#include "view/simulate/PlanTime.h"

#include <memory>
#include <mutex>
#include <optional>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Holding;
using plan::PlanIndex;
using plan::Result;
using plan::Side;
using plan::Status;
using plan::text;

/// Immutable; shared by its handle and by migrations.
class OpenPlan {
public:
  /// Both check format and rules.
  static Result<std::shared_ptr<const OpenPlan>> open(const std::string &path);
  static Result<std::shared_ptr<const OpenPlan>>
  copy(std::span<const uint8_t> bytes);

  const PlanIndex &index() const { return *index_; }
  const plan::fb::Plan &plan() const { return index_->plan(); }
  /// What a file of it contains.
  std::span<const uint8_t> bytes() const { return file->fileBytes(); }
  const plan::fb::Configuration &configuration(Side side) const {
    return side == Side::Prev ? *plan().prev() : *plan().curr();
  }
  /// The configuration as people write it: "PP4TP2".
  const std::string &label(Side side) const {
    return side == Side::Prev ? prevLabel : currLabel;
  }
  /// At the rates that the plan states; simulated at the first call. Nothing
  /// where it states none, as slices do not.
  const std::optional<PlanTime> &time() const;
  /// Whether certificates and bounds are proved, checked at the first call.
  const Status &proof() const;
  /// Of a whole plan, worked out at the first call: a process hands out many
  /// slices of one plan.
  const plan::FingerprintTree &tree() const;
  /// Why no routing of its roles is below the bound of that time.
  const std::string &witness() const { return witness_; }
  /// Why no other roles are below theirs.
  const std::string &rolesWitness() const { return rolesWitness_; }

private:
  static Result<std::shared_ptr<const OpenPlan>>
  check(std::shared_ptr<OpenPlan> plan);

  std::optional<plan::PlanFile> file;
  std::vector<uint64_t> copied; // aligned
  std::optional<PlanIndex> index_;
  std::string prevLabel, currLabel, witness_, rolesWitness_;
  mutable std::once_flag timed;
  mutable std::optional<PlanTime> time_;
  mutable std::once_flag proved;
  mutable Status proof_ = Status::success();
  mutable std::once_flag hashed;
  mutable std::optional<plan::FingerprintTree> tree_;
};

/// The worst peak over max(prev, curr) of all devices, in ten thousandths,
/// rounded up: {eager, safe}.
std::pair<uint64_t, uint64_t> peakRatios(const PlanIndex &index);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CAPI_OPENPLAN_H
