//===- CheckTimeBound.cpp - V15: the witness of a time --------------------===//
//
// Counts again what has to cross the borders of the witness, or which tolls
// have to be paid, and at which rate they can, from what lib/Layout says that
// roles hold.
//
//===----------------------------------------------------------------------===//

#include "CrossingBytes.h"
#include "Rules.h"

#include "llvm/ADT/BitVector.h"

#include <algorithm>
#include <array>
#include <set>

using namespace etc;
using namespace mlir;

namespace {
class BoundChecker {
public:
  BoundChecker(const PlanUnderTest &plan, TimeBoundOp bound);
  LogicalResult run();

private:
  bool takesPart(int64_t device) const {
    return prevRole[device] >= 0 || currRole[device] >= 0;
  }
  LogicalResult checkDevices();
  int64_t countLack(const llvm::BitVector &needers,
                    const llvm::BitVector &holders) const;
  int64_t countBytes() const;
  int64_t countLeaving() const;
  std::array<ArrayRef<int64_t>, 4> getTolls() const;
  int64_t countTolls() const;
  LogicalResult checkTolls() const;

  /// Of a node; NICs of the devices inside and of all participants.
  struct NodeCount {
    int64_t participants = 0, inside = 0, inner = 0, nics = 0, allNics = 0;
  };
  NodeCount countNode(int64_t node, int64_t first) const;
  std::set<int64_t> findRates() const;

  const PlanUnderTest &plan;
  TimeBoundOp bound;
  /// [device] roles of those that take part, or -1.
  SmallVector<int64_t> prevRole, currRole;
  llvm::BitVector isInside, isInner;
};
} // namespace

BoundChecker::BoundChecker(const PlanUnderTest &plan, TimeBoundOp bound)
    : plan(plan), bound(bound), prevRole(plan.nodeOf.size(), -1),
      currRole(plan.nodeOf.size(), -1), isInside(plan.nodeOf.size()),
      isInner(plan.nodeOf.size()) {
  MigrationOp migration = plan.migration;
  for (auto [rank, device] : llvm::enumerate(migration.getPrevPlacement()))
    prevRole[device] = LayoutOracle::roleOfRank(migration.getPrev(), rank);
  for (int64_t device : migration.getFailed().value_or(ArrayRef<int64_t>()))
    prevRole[device] = -1;
  for (auto [rank, device] :
       llvm::enumerate(migration.getOnly<PlacementOp>().getDevices()))
    currRole[device] = LayoutOracle::roleOfRank(migration.getCurr(), rank);
  for (int64_t device : bound.getDevices())
    isInside.set(device);
  for (int64_t device : bound.getInner().value_or(ArrayRef<int64_t>()))
    isInner.set(device);
}

LogicalResult BoundChecker::checkDevices() {
  for (int64_t device : bound.getDevices())
    if (!takesPart(device))
      return Refusal(bound, Rule::TimeBound)
             << "device " << device << " takes no part";
  return success();
}

/// What some devices need and others did not hold.
int64_t BoundChecker::countLack(const llvm::BitVector &needers,
                                const llvm::BitVector &holders) const {
  std::set<int64_t> prevRoles, currRoles;
  for (unsigned device : holders.set_bits())
    if (prevRole[device] >= 0)
      prevRoles.insert(prevRole[device]);
  for (unsigned device : needers.set_bits())
    if (currRole[device] >= 0)
      currRoles.insert(currRole[device]);
  CrossingBytes bytes(plan.table, plan.oracle);
  for (int64_t role : prevRoles)
    bytes.addHolder(role);
  for (int64_t role : currRoles)
    bytes.addNeeder(role);
  return bytes.count(TimeBoundOp(bound).getOfPause());
}

/// A group each of inner devices, of the others of a node, and of all outside.
int64_t BoundChecker::countLeaving() const {
  LeavingGroups groups;
  SmallVector<int32_t> groupOf(isInside.size(), LeavingGroups::kOutside);
  for (unsigned device : isInside.set_bits())
    groupOf[device] =
        groups.of(plan.nodeOf[device], device, isInner.test(device));
  groups.finish();
  CrossingBytes bytes(plan.table, plan.oracle);
  for (auto [device, group] : llvm::enumerate(groupOf)) {
    if (prevRole[device] >= 0)
      bytes.addHolder(prevRole[device], group);
    if (currRole[device] >= 0)
      bytes.addNeeder(currRole[device], group);
  }
  return bytes.countLeaving(groups, TimeBoundOp(bound).getOfPause());
}

/// Each inner device has to receive a byte by itself.
int64_t BoundChecker::countBytes() const {
  if (TimeBoundOp(bound).getDirection() == Direction::Out)
    return countLeaving();
  int64_t bytes = countLack(isInside, isInside);
  if (isInner.any())
    bytes -= countLack(isInner, isInside);
  for (unsigned device : isInner.set_bits()) {
    llvm::BitVector alone(isInner.size());
    alone.set(device);
    bytes += countLack(alone, alone);
  }
  return bytes;
}

BoundChecker::NodeCount BoundChecker::countNode(int64_t node,
                                                int64_t first) const {
  const int64_t size = plan.migration.getNodes()[node],
                nics = std::min(
                    MigrationOp(plan.migration).getResourcesAttr().getNics(),
                    size);
  NodeCount count;
  std::set<int64_t> inside, all;
  for (int64_t i = 0; i < size; ++i) {
    if (!takesPart(first + i))
      continue;
    ++count.participants;
    all.insert(nics * i / size);
    if (!isInside.test(first + i))
      continue;
    ++count.inside;
    count.inner += isInner.test(first + i);
    inside.insert(nics * i / size);
  }
  count.nics = static_cast<int64_t>(inside.size());
  count.allNics = static_cast<int64_t>(all.size());
  return count;
}

/// The rates that a bound may state: of links and NICs, each of the devices or
/// at the other end. Links lead to further participants of the node, those of
/// inner devices to any; NICs lead to other nodes'.
std::set<int64_t> BoundChecker::findRates() const {
  SmallVector<NodeCount> nodes;
  int64_t first = 0, all = 0, nodesInside = 0;
  for (auto [node, size] :
       llvm::enumerate(MigrationOp(plan.migration).getNodes())) {
    nodes.push_back(countNode(static_cast<int64_t>(node), first));
    first += size;
    all += nodes.back().participants;
    nodesInside += nodes.back().inside > 0;
  }
  std::array<int64_t, 2> links = {}, nics = {};
  for (const NodeCount &node : nodes) {
    const int64_t outside = node.participants - node.inside;
    if (node.inside > 0 && outside > 0)
      links[0] += node.inside;
    else if (node.participants > 1)
      links[0] += node.inner;
    if (node.inner > 0)
      links[1] += node.participants > 1 ? node.participants : 0;
    else if (node.inside > 0)
      links[1] += outside;
    if (node.participants < all)
      nics[0] += node.nics;
    if (nodesInside > (node.inside > 0 ? 1 : 0))
      nics[1] += node.allNics;
  }
  const ResourcesAttr resources =
      MigrationOp(plan.migration).getResourcesAttr();
  std::set<int64_t> rates;
  for (int64_t link : links)
    for (int64_t nic : nics)
      rates.insert(link * resources.getLinkRate() +
                   nic * resources.getNicRate());
  return rates;
}

std::array<ArrayRef<int64_t>, 4> BoundChecker::getTolls() const {
  TimeBoundOp its = bound;
  const auto listOf = [](std::optional<ArrayRef<int64_t>> list) {
    return list.value_or(ArrayRef<int64_t>());
  };
  return {listOf(its.getLinksOut()), listOf(its.getLinksIn()),
          listOf(its.getNicsOut()), listOf(its.getNicsIn())};
}

/// A group each of all that take part.
int64_t BoundChecker::countTolls() const {
  SmallVector<int64_t> participants;
  CrossingBytes bytes(plan.table, plan.oracle);
  for (size_t device = 0; device < prevRole.size(); ++device) {
    if (!takesPart(static_cast<int64_t>(device)))
      continue;
    const auto number = static_cast<int32_t>(participants.size());
    participants.push_back(static_cast<int64_t>(device));
    if (prevRole[device] >= 0)
      bytes.addHolder(prevRole[device], number);
    if (currRole[device] >= 0)
      bytes.addNeeder(currRole[device], number);
  }
  const std::array<ArrayRef<int64_t>, 4> lists = getTolls();
  MigrationOp migration = plan.migration;
  const TollCount tolls = TollCount::of(
      participants.size(),
      [&](size_t i, size_t j) {
        return plan.nodeOf[participants[i]] == plan.nodeOf[participants[j]];
      },
      [&](size_t kind, size_t i) {
        const bool isOfNics = kind >= 2;
        return llvm::binary_search(
            lists[kind], isOfNics ? migration.getFirstOfNic(participants[i])
                                  : participants[i]);
      });
  return bytes.countTolls(tolls, TimeBoundOp(bound).getOfPause());
}

LogicalResult BoundChecker::checkTolls() const {
  size_t participants = 0;
  for (size_t device = 0; device < prevRole.size(); ++device)
    participants += takesPart(static_cast<int64_t>(device));
  if (participants > TollCount::kMostDevices)
    return Refusal(bound, Rule::TimeBound)
           << "has tolls, but " << participants << " devices take part";
  const auto [linksOut, linksIn, nicsOut, nicsIn] = getTolls();
  for (ArrayRef<int64_t> list : {linksOut, linksIn})
    for (int64_t device : list)
      if (!takesPart(device))
        return Refusal(bound, Rule::TimeBound)
               << "device " << device << " takes no part";
  const ResourcesAttr resources =
      MigrationOp(plan.migration).getResourcesAttr();
  const int64_t rate = static_cast<int64_t>(linksOut.size() + linksIn.size()) *
                           resources.getLinkRate() +
                       static_cast<int64_t>(nicsOut.size() + nicsIn.size()) *
                           resources.getNicRate(),
                stated = TimeBoundOp(bound).getRate();
  if (rate != stated)
    return Refusal(bound, Rule::TimeBound)
           << "states a rate of " << stated << " bytes a second, " << rate
           << " take tolls";
  if (const int64_t bytes = countTolls();
      bytes != static_cast<int64_t>(TimeBoundOp(bound).getBytes()))
    return Refusal(bound, Rule::TimeBound)
           << "states " << TimeBoundOp(bound).getBytes() << " bytes, " << bytes
           << " tolls are paid";
  return success();
}

LogicalResult BoundChecker::run() {
  if (bound.hasTolls())
    return checkTolls();
  if (failed(checkDevices()))
    return failure();
  const int64_t rate = bound.getRate(), bytes = countBytes();
  const std::set<int64_t> rates = findRates();
  if (!rates.contains(rate))
    return Refusal(bound, Rule::TimeBound)
           << "states a rate of " << rate << " bytes a second, "
           << *rates.begin() << " can cross";
  if (bytes != static_cast<int64_t>(bound.getBytes()))
    return Refusal(bound, Rule::TimeBound)
           << "states " << bound.getBytes() << " bytes, " << bytes
           << " have to cross";
  return success();
}

LogicalResult etc::checkTimeBounds(const PlanUnderTest &plan) {
  for (TimeBoundOp bound : plan.migration.getOps<TimeBoundOp>())
    if (failed(BoundChecker(plan, bound).run()))
      return failure();
  return success();
}
