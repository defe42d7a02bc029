//===- Price.cpp - What a placement costs over the free one ---------------===//

#include "etc/Planner/Price.h"

#include "core/plan/Relays.h"
#include "etc/Export/PlanText.h"
#include "etc/Planner/Lanes.h"
#include "etc/Transforms/TryPlacement.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace etc;

/// Of a plan with this summary.
static std::optional<Price> findPrice(MigrationOp migration,
                                      const plan::fb::Summary &s,
                                      bool hasRelays, bool totalFirst) {
  std::optional<Place> place = migration.getPlace();
  if (!place || *place == Place::Any || migration.getCurrDevices())
    return std::nullopt;
  Price price{*place, hasRelays, {}};
  // At both bounds there is nothing that a trial could find.
  if (s.moved_bytes() == s.bound_moved_bytes() &&
      s.internode_bytes() == s.bound_internode_bytes()) {
    price.hasRelays = false;
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
  price.bytes = {own.moved - free.moved, own.internode - free.internode,
                 std::nullopt};
  int64_t lanes = 1;
  if (auto count = migration->getAttrOfType<mlir::IntegerAttr>(lanesMark))
    lanes = count.getInt();
  const auto freeTime = trials.timeOf(found->placement),
             ownTime = trials.timeOf(placement.getDevices());
  if (freeTime && ownTime) {
    price.hasRelays = false;
    price.bytes->internode = ownTime->internode - freeTime->internode;
    price.bytes->seconds = ownTime->seconds - freeTime->seconds;
  }
  // Of all lanes.
  price.bytes->moved *= lanes;
  price.bytes->internode *= lanes;
  return price;
}

std::optional<Price> etc::priceOf(MigrationOp migration,
                                  const plan::fb::Plan &plan, bool totalFirst) {
  return findPrice(migration, *plan.summary(),
                   plan::relayedBytes(plan::PlanIndex(plan)) != 0, totalFirst);
}

std::optional<Price> etc::priceOf(MigrationOp migration, const PlanFacts &facts,
                                  bool totalFirst) {
  return findPrice(migration, *facts.getPlan().summary(),
                   facts.getRelayedBytes() != 0, totalFirst);
}

/// "12.00 GB more", "3 B less", "0 B more".
static std::string describeBytes(int64_t bytes) {
  return formatBytes(std::abs(bytes)) + (bytes < 0 ? " less" : " more");
}

/// "12.5 ms more"; nothing below a microsecond.
static std::string describeSeconds(double seconds) {
  if (std::abs(seconds) < 1e-6)
    return "no more time";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%.4g ms %s", 1000 * std::abs(seconds),
                     seconds < 0 ? "less" : "more");
  return text;
}

void etc::writePrice(const Price &price, llvm::raw_ostream &os) {
  os << "  price    --place=" << stringifyPlace(price.place)
     << " over --place=any" << (price.hasRelays ? ", without relays: " : ": ");
  if (!price.bytes)
    os << "unknown\n";
  else if (price.bytes->moved == 0 && price.bytes->internode == 0)
    os << "0 B\n";
  else {
    os << describeBytes(price.bytes->moved) << " moved, "
       << describeBytes(price.bytes->internode) << " between nodes";
    if (price.bytes->seconds)
      os << ", " << describeSeconds(*price.bytes->seconds);
    os << "\n";
  }
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
    json.attribute("seconds", price->bytes && price->bytes->seconds
                                  ? llvm::json::Value(*price->bytes->seconds)
                                  : nullptr);
  });
}
