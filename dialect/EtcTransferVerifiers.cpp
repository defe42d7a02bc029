//===- EtcTransferVerifiers.cpp - Invariants of demands to rounds ---------===//
//
// Verifiers stay local: that all that is lacking is sent, by those that have
// it, is for etc-verify-plan to prove.
//
//===----------------------------------------------------------------------===//

#include "dialect/Limits.h"
#include "dialect/Verifiers.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace etc;
using namespace mlir;

/// Ids and types are there, and the types are the migration's.
static LogicalResult verifyEntry(WorkloadsOpInterface op) {
  if (op.getWid().empty() || op.getWt().empty())
    return op->emitOpError("expected at least one workload and one type");
  return verifyTypes(op, op.getWt());
}

LogicalResult DemandOp::verify() {
  auto migration = (*this)->getParentOfType<MigrationOp>();
  if (failed(verifyEntry(*this)) ||
      failed(verifyDevices(migration, *this, "lacking", getDevices())))
    return failure();
  if (getDevices().empty() || getHolders().empty())
    return emitOpError("expected at least one device and one holder");
  llvm::DenseSet<Attribute> seen;
  for (auto holder : getHolders().getAsRange<RoleAttr>()) {
    const ParallelAttr prev = migration.getPrev();
    // What an inventory holds is of a device each.
    const bool isPool = !prev.getInventory() && prev.hasPool(holder);
    if (!isPool && failed(verifyRole(*this, Side::Prev, holder)))
      return failure();
    if (!seen.insert(holder).second)
      return emitOpError() << "holder " << holder.str() << " is listed twice";
  }
  return success();
}

LogicalResult TransferOp::verify() {
  auto migration = (*this)->getParentOfType<MigrationOp>();
  if (failed(verifyEntry(*this)) ||
      failed(verifyDevices(migration, *this, "destination", getDestinations())))
    return failure();
  if (getSources().size() != getDestinations().size())
    return emitOpError() << "expected a source for each destination, got "
                         << getSources().size() << " for "
                         << getDestinations().size();
  if (getSources().empty())
    return emitOpError("expected at least one destination");
  for (auto [source, destination] :
       llvm::zip_equal(getSources(), getDestinations())) {
    // Others may have the same source.
    if (failed(verifyDevices(migration, *this, "source", {source})))
      return failure();
    if (source == destination)
      return emitOpError() << "device " << source << " sends to itself";
  }
  if (getFromTransit() && !getHop())
    return emitOpError("passes on what has arrived, expected a 'hop'");
  return success();
}

/// Who relays has received with one hop less, to keep it or in transit.
LogicalResult TransfersOp::verifyRegions() {
  using Use = std::tuple<int64_t, int64_t, int64_t>; // device, hop, in transit
  llvm::DenseSet<Use> received, sent;
  for (TransferOp op : getBody().getOps<TransferOp>()) {
    const int64_t hop = op.getHop().value_or(0);
    for (int64_t device : op.getDestinations())
      received.insert(Use(device, hop, op.getToTransit()));
    for (int64_t device : op.getSources())
      sent.insert(Use(device, hop, op.getFromTransit()));
  }
  for (TransferOp op : getBody().getOps<TransferOp>()) {
    const int64_t hop = op.getHop().value_or(0);
    for (int64_t device : op.getSources())
      if (hop > 0 &&
          !received.contains(Use(device, hop - 1, op.getFromTransit())))
        return op.emitOpError() << "device " << device << " relays with hop "
                                << hop << ", but receives nothing "
                                << (op.getFromTransit() ? "in transit " : "")
                                << "with hop " << hop - 1;
    for (int64_t device : op.getDestinations())
      if (op.getToTransit() && !sent.contains(Use(device, hop + 1, true)))
        return op.emitOpError()
               << "device " << device << " receives in transit with hop " << hop
               << ", but passes nothing on with hop " << hop + 1;
  }
  return success();
}

/// Chunks are in order, and each is sent on in a later round than it arrives.
static LogicalResult verifyOrder(CutOp op) {
  ArrayRef<int64_t> before;
  for (unsigned hop = 0; hop < op.getRounds().size(); ++hop) {
    ArrayRef<int64_t> rounds = op.getRoundsOf(hop);
    if (rounds.empty() || (hop > 0 && rounds.size() != before.size()))
      return op.emitOpError()
             << "expected a round for each of at least one chunk, the same "
                "number at every hop";
    if (rounds.front() < 0 || !llvm::is_sorted(rounds))
      return op.emitOpError("expected the rounds of a hop in ascending order");
    if (rounds.back() >= mostRounds)
      return op.emitOpError() << "round " << rounds.back() << " is not in [0, "
                              << mostRounds << ")";
    for (auto [arrives, leaves] : llvm::zip(before, rounds))
      if (leaves <= arrives)
        return op.emitOpError()
               << "hop " << hop << " sends a chunk in round " << leaves
               << " that arrives in round " << arrives;
    before = rounds;
  }
  return success();
}

LogicalResult CutOp::verify() {
  if (failed(verifyEntry(*this)))
    return failure();
  if (getRounds().empty())
    return emitOpError("expected the rounds of at least one hop");
  if (getDerived().value_or(0) >= mostRounds)
    return emitOpError() << "round " << *getDerived() << " is not in [0, "
                         << mostRounds << ")";
  return verifyOrder(*this);
}
