//===- Price.cpp - What a placement costs over the free one ---------------===//

#include "etc/Planner/Price.h"

#include "core/plan/Relays.h"
#include "etc/Export/PlanText.h"
#include "etc/Transforms/TryPlacement.h"

#include "llvm/Support/JSON.h"

using namespace etc;

std::optional<Price> etc::priceOf(MigrationOp migration,
                                  const plan::fb::Plan &plan, bool totalFirst) {
  std::optional<Place> place = migration.getPlace();
  if (!place || *place == Place::Any || migration.getCurrDevices())
    return std::nullopt;
  const plan::fb::Summary &s = *plan.summary();
  Price price{*place, plan::relayedBytes(plan::PlanIndex(plan)) != 0, {}};
  // At both bounds there is nothing that a trial could find.
  if (s.moved_bytes() == s.bound_moved_bytes() &&
      s.internode_bytes() == s.bound_internode_bytes()) {
    price.bytes.emplace();
    return price;
  }
  Trial trial;
  trial.totalFirst = totalFirst;
  PlacementTrials trials(migration);
  std::optional<TrialResult> found = trials.run(trial);
  if (!found)
    return price;
  // Of the plan, too, without relays.
  auto placement = migration.getOnly<PlacementOp>();
  const Volumes &free = found->volumes,
                own = *trials.volumesOf(placement.getDevices());
  price.bytes = {own.moved - free.moved, own.internode - free.internode};
  return price;
}

/// "12.00 GB more", "3 B less", "0 B more".
static std::string describeBytes(int64_t bytes) {
  return formatBytes(std::abs(bytes)) + (bytes < 0 ? " less" : " more");
}

void etc::writePrice(const Price &price, llvm::raw_ostream &os) {
  os << "  price    --place=" << stringifyPlace(price.place)
     << " over --place=any" << (price.hasRelays ? ", without relays: " : ": ");
  if (!price.bytes)
    os << "unknown\n";
  else if (price.bytes->moved == 0 && price.bytes->internode == 0)
    os << "0 B\n";
  else
    os << describeBytes(price.bytes->moved) << " moved, "
       << describeBytes(price.bytes->internode) << " between nodes\n";
}

void etc::writePriceJson(const std::optional<Price> &price,
                         llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/1);
  if (!price) {
    json.value(nullptr);
    return;
  }
  json.object([&] {
    json.attribute("place", stringifyPlace(price->place));
    json.attribute("relays_aside", price->hasRelays);
    json.attribute("moved_bytes", price->bytes
                                      ? llvm::json::Value(price->bytes->moved)
                                      : nullptr);
    json.attribute("internode_bytes",
                   price->bytes ? llvm::json::Value(price->bytes->internode)
                                : nullptr);
  });
}
