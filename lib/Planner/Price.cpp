//===- Price.cpp - What a placement costs over the free one ---------------===//

#include "etc/Planner/Price.h"

#include "Attempt.h"
#include "RunPasses.h"
#include "core/plan/PlanIndex.h"
#include "core/plan/Relays.h"
#include "core/plan/TimeBound.h"
#include "etc/Export/PlanText.h"
#include "etc/Planner/Lanes.h"
#include "etc/Planner/Sections.h"
#include "etc/Transforms/Passes.h"
#include "etc/Transforms/TryPlacement.h"

#include "mlir/IR/Diagnostics.h"

#include "llvm/Support/JSON.h"

#include <cmath>

using namespace etc;
using namespace mlir;

/// A plan that is larger takes long to make, and is not made for its price.
static constexpr size_t mostBytes = 4 << 20;

static plan::PlanIndex indexOf(const PlannedRequest &planned) {
  return plan::PlanIndex(*plan::fb::GetPlan(planned.plans.front().data()));
}

/// Nothing where no rates are stated.
static std::optional<runtime::PlanTime> timeOf(const PlannedRequest &planned) {
  return planned.times.empty() ? runtime::timeOf(indexOf(planned))
                               : planned.times.front();
}

static PlanFigures figuresOf(const PlannedRequest &planned) {
  const plan::PlanIndex index = indexOf(planned);
  const plan::fb::Summary &s = *index.plan().summary();
  return {timeOf(planned).value_or(runtime::PlanTime()), s.internode_bytes(),
          s.moved_bytes()};
}

static double pauseOf(const runtime::PlanTime &time) {
  return time.pauseSeconds > 0 ? time.pauseSeconds : time.predictedSeconds;
}

/// Nothing, in the units of the plan's own price.
static PriceBytes noneFor(const PlannedRequest &planned) {
  PriceBytes none;
  if (timeOf(planned))
    none.seconds = 0;
  none.ofPause = plan::defersState(indexOf(planned));
  return none;
}

/// Of both plans. Where narrower places are tried, too, the own one is, and it
/// is the plan of the wider place if it is better than the others.
static std::optional<PriceBytes> comparePlans(const request::Request &request,
                                              const PlannedRequest &planned,
                                              MLIRContext &context) {
  // That there is no plan is an answer, not an error.
  ScopedDiagnosticHandler silence(&context,
                                  [](Diagnostic &) { return success(); });
  request::Request anywhere = request;
  anywhere.place = "any";
  PlanOptions options;
  options.narrower.clear();
  if (request.place == "pack") // what tp allows besides; else nothing is left
    options.narrower.push_back(Place::Tp);
  options.findsTolls = false; // no bound is asked for
  const FailureOr<PlannedRequest> free =
      planRequest(context, anywhere, options);
  if (failed(free))
    return std::nullopt;
  const PlanFigures own = figuresOf(planned), other = figuresOf(*free);
  PriceBytes price = noneFor(planned);
  if (triesNarrower(anywhere, {}) && !isBetter(request, other, own))
    return price;
  price.moved = static_cast<int64_t>(own.movedBytes - other.movedBytes);
  price.internode =
      static_cast<int64_t>(own.internodeBytes - other.internodeBytes);
  if (price.seconds && timeOf(*free))
    price.seconds = pauseOf(own.time) - pauseOf(other.time);
  else
    price.seconds.reset();
  return price;
}

/// Of both placements, without relays.
static std::optional<PriceBytes> comparePlacements(MigrationOp migration,
                                                   PlacementTrials &trials,
                                                   bool totalFirst) {
  Trial trial;
  trial.totalFirst = totalFirst;
  trial.shareNodes = migration->hasAttr(sharedNodesMark);
  trial.reachNics = migration->hasAttr(moreNicsMark);
  const std::optional<TrialResult> free = trials.run(trial);
  if (!free)
    return std::nullopt;
  const Volumes own =
      *trials.volumesOf(migration.getOnly<PlacementOp>().getDevices());
  int64_t lanes = 1;
  if (auto count = migration->getAttrOfType<IntegerAttr>(lanesMark))
    lanes = count.getInt();
  PriceBytes bytes;
  bytes.moved = lanes * (own.moved - free->volumes.moved);
  bytes.internode = lanes * (own.internode - free->volumes.internode);
  return bytes;
}

/// Whether the plan is of one lane, or of one section of each kind. With
/// `--place=any` it would be of all, and take long to make.
static bool isPart(MigrationOp migration) {
  return migration->hasAttr(lanesMark) || migration->hasAttr(sectionsMark);
}

/// Whether the ranks would stay where they are if they could go anywhere,
/// whether they share nodes and reach more NICs or not.
static bool staysAnywhere(MigrationOp migration, PlacementTrials &trials,
                          bool totalFirst) {
  for (bool shareNodes : {true, false})
    for (bool reachNics : {true, false}) {
      const std::optional<TrialResult> free = trials.run(
          {Place::Any, totalFirst, /*draining=*/{}, shareNodes, reachNics});
      if (!free || !llvm::equal(migration.getOnly<PlacementOp>().getDevices(),
                                free->placement))
        return false;
    }
  return true;
}

static bool isAtBounds(const plan::PlanIndex &index) {
  const plan::fb::Summary &s = *index.plan().summary();
  return s.moved_bytes() == s.bound_moved_bytes() &&
         s.internode_bytes() == s.bound_internode_bytes();
}

std::optional<Price> etc::priceOf(const request::Request &request,
                                  PlannedRequest &planned) {
  MigrationOp migration = *planned.module->getOps<MigrationOp>().begin();
  const std::optional<Place> place = migration.getPlace();
  if (planned.plans.size() != 1 || !place || *place == Place::Any ||
      migration.getCurrDevices())
    return std::nullopt;
  Price price{*place, false, {}};
  const plan::PlanIndex index = indexOf(planned);
  const bool isLarge = planned.plans.front().size() > mostBytes;
  // At both bounds there is nothing that a trial could find.
  if ((isLarge || isPart(migration)) && isAtBounds(index)) {
    price.bytes.emplace();
    return price;
  }
  PlacementTrials trials(migration);
  if (isLarge) {
    price.hasRelays = plan::relayedBytes(index) != 0;
    price.bytes = comparePlacements(migration, trials, request.isTotalFirst());
  } else if (!isPart(migration) &&
             staysAnywhere(migration, trials, request.isTotalFirst())) {
    price.bytes = noneFor(planned);
  } else {
    price.bytes = comparePlans(request, planned, *migration.getContext());
  }
  return price;
}

/// "12.00 GB more", "3 B less", "0 B more".
static std::string describeBytes(int64_t bytes) {
  return formatBytes(std::abs(bytes)) + (bytes < 0 ? " less" : " more");
}

static constexpr double leastSeconds = 1e-6;

/// "12.5 ms more".
static std::string describeSeconds(double seconds) {
  if (std::abs(seconds) < leastSeconds)
    return "no more time";
  return formatSeconds(std::abs(seconds)) + (seconds < 0 ? " less" : " more");
}

void etc::writePrice(const Price &price, llvm::raw_ostream &os) {
  os << "  price    --place=" << stringifyPlace(price.place)
     << " over --place=any" << (price.hasRelays ? ", without relays: " : ": ");
  if (!price.bytes)
    os << "unknown\n";
  else if (price.bytes->moved == 0 && price.bytes->internode == 0 &&
           std::abs(price.bytes->seconds.value_or(0)) < leastSeconds)
    os << "0 B\n";
  else {
    os << describeBytes(price.bytes->moved) << " moved, "
       << describeBytes(price.bytes->internode) << " between nodes";
    if (price.bytes->seconds)
      os << ", " << describeSeconds(*price.bytes->seconds)
         << (price.bytes->ofPause ? " in the pause" : "");
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
    json.attribute("of_pause", price->bytes && price->bytes->ofPause);
  });
}
