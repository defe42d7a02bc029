//===- PlanFacts.h - What takes a look at all of a plan ---------*- C++ -*-===//

#ifndef ETC_EXPORT_PLANFACTS_H
#define ETC_EXPORT_PLANFACTS_H

#include "core/plan/PeakRatios.h"
#include "view/simulate/PlanTime.h"

#include <optional>
#include <vector>

namespace etc {

/// What people are told of a plan. Of a large plan that states one lane, or one
/// section of each kind, the operations of the others are not written out.
class PlanFacts {
public:
  /// Refers to the plan. `known` is what it takes, if that is known.
  explicit PlanFacts(const plan::fb::Plan &plan,
                     const runtime::PlanTime *known = nullptr);
  PlanFacts(const PlanFacts &) = delete;
  PlanFacts &operator=(const PlanFacts &) = delete;

  /// Of all lanes and sections; programs may hold and do nothing.
  const plan::PlanIndex &getIndex() const { return *index; }
  const plan::fb::Plan &getPlan() const { return index->plan(); }
  uint64_t getRelayedBytes() const { return relayedBytes; }
  const plan::PeakRatios &getPeakRatios() const { return peakRatios; }
  /// Whether parameters move that could be cast, were no side an inventory.
  bool movesCastsOfInventory() const;
  /// Nothing where the plan states no rates.
  const std::optional<runtime::PlanTime> &getTime() const { return time; }

private:
  void look(const plan::PlanIndex &stated, uint64_t lanes = 1);
  void takeParts(const plan::fb::Plan &stated);

  std::vector<uint8_t> unfolded;
  std::optional<plan::PlanIndex> index;
  uint64_t relayedBytes;
  plan::PeakRatios peakRatios;
  std::optional<runtime::PlanTime> time;
};

} // namespace etc

#endif // ETC_EXPORT_PLANFACTS_H
