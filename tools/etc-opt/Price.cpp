//===- Price.cpp - What a placement costs over the free one ---------------===//

#include "Price.h"

#include "etc/Export/PlanText.h"
#include "etc/Transforms/TryPlacement.h"
#include "plan/Relays.h"

using namespace etc;

/// "12.00 GB more", "3 B less", "nothing".
static std::string difference(int64_t plan, int64_t free) {
  if (plan == free)
    return "nothing";
  return formatBytes(std::abs(plan - free)) + (plan > free ? " more" : " less");
}

void etc::writePrice(MigrationOp migration, const plan::fb::Plan &plan,
                     bool totalFirst, llvm::raw_ostream &os) {
  std::optional<Place> place = migration.getPlace();
  if (!place || *place == Place::Any || migration.getCurrDevices())
    return;
  const plan::fb::Summary &s = *plan.summary();
  os << "  price    of " << stringifyPlace(*place) << " over any"
     << (plan::relayedBytes(plan::PlanIndex(plan)) ? ", relays aside: " : ": ");
  // At both bounds there is nothing that a trial could find.
  if (s.moved_bytes() == s.bound_moved_bytes() &&
      s.internode_bytes() == s.bound_internode_bytes()) {
    os << "nothing\n";
    return;
  }
  Trial trial;
  trial.totalFirst = totalFirst;
  PlacementTrials trials(migration);
  std::optional<TrialResult> found = trials.run(trial);
  if (!found) {
    os << "unknown\n";
    return;
  }
  // Of the plan, too, without relays.
  auto placement = migration.getOnly<PlacementOp>();
  const Volumes &free = found->volumes,
                own = *trials.volumesOf(placement.getDevices());
  if (own.moved == free.moved && own.internode == free.internode)
    os << "nothing\n";
  else
    os << "moves " << difference(own.moved, free.moved) << ", "
       << difference(own.internode, free.internode) << " between nodes\n";
}
