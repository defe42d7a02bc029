//===- TimeBounds.cpp - Cuts and tolls as ops -----------------------------===//

#include "TimeBounds.h"

#include "mlir/IR/Builders.h"

using namespace etc;
using namespace mlir;

static llvm::BitVector setOf(ArrayRef<int32_t> list, int64_t size) {
  llvm::BitVector set(size);
  for (int32_t device : list)
    set.set(device);
  return set;
}

/// Atoms count what overlapping boxes of an inventory share for each of them,
/// so the bytes of a cut are counted by holdings.
static int64_t countCrossing(const routing::Cut &cut, const CountedBy &by,
                             bool ofPause) {
  const llvm::BitVector all = setOf(cut.devices, by.devices.size()),
                        inner = setOf(cut.inner, by.devices.size());
  if (cut.direction == routing::Direction::Out)
    return countLeaving(all, inner, by.table, by.holdings, by.devices, by.needs,
                        ofPause);
  auto count = [&](const llvm::BitVector &needers,
                   const llvm::BitVector &holders) {
    return countEntering(needers, holders, by.table, by.holdings, by.devices,
                         by.needs, ofPause);
  };
  int64_t bytes = count(all, all);
  if (!cut.inner.empty())
    bytes -= count(inner, all);
  for (int32_t device : cut.inner) {
    const llvm::BitVector alone = setOf(device, by.devices.size());
    bytes += count(alone, alone);
  }
  return bytes;
}

/// By participant, where NICs are those of the first device that has them.
static int64_t countPaid(MigrationOp migration, const routing::Tolls &tolls,
                         const CountedBy &by, bool ofPause) {
  SmallVector<int64_t> participants;
  for (int64_t device = 0; device < by.devices.size(); ++device)
    if (by.devices.getPrevRole(device) >= 0 ||
        by.needs.getCurrRole(device) >= 0)
      participants.push_back(device);
  const std::vector<int32_t> *const lists[] = {&tolls.linksOut, &tolls.linksIn,
                                               &tolls.nicsOut, &tolls.nicsIn};
  const TollCount count = TollCount::of(
      participants.size(),
      [&](size_t i, size_t j) {
        return by.devices.getNode(participants[i]) ==
               by.devices.getNode(participants[j]);
      },
      [&](size_t kind, size_t i) {
        const bool isOfNics = kind >= 2;
        return std::binary_search(lists[kind]->begin(), lists[kind]->end(),
                                  isOfNics
                                      ? migration.getFirstOfNic(participants[i])
                                      : participants[i]);
      });
  return countTolls(count, participants, by.table, by.holdings, by.devices,
                    by.needs, ofPause);
}

static void write(MigrationOp migration, const routing::Cut &cut,
                  bool ofPause) {
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  auto numbers = [&](ArrayRef<int32_t> list) -> DenseI64ArrayAttr {
    return list.empty() ? nullptr
                        : builder.getDenseI64ArrayAttr(
                              SmallVector<int64_t>(list.begin(), list.end()));
  };
  const auto &[linksOut, linksIn, nicsOut, nicsIn] = cut.tolls;
  const Direction direction =
      cut.direction == routing::Direction::In ? Direction::In : Direction::Out;
  TimeBoundOp::create(
      builder, migration.getFieldLoc({"cluster", "curr"}), ofPause,
      cut.tolls.empty() ? DirectionAttr::get(builder.getContext(), direction)
                        : nullptr,
      SmallVector<int64_t>(cut.devices.begin(), cut.devices.end()),
      numbers(cut.inner), numbers(linksOut), numbers(linksIn), numbers(nicsOut),
      numbers(nicsIn), cut.time.bytes, cut.time.rate);
}

/// There are no more bytes once they are counted again, so not all cuts have to
/// be.
void etc::writeTimeBound(MigrationOp migration, ArrayRef<routing::Cut> cuts,
                         const CountedBy &counted, bool ofPause) {
  routing::Cut cut;
  for (const routing::Cut &candidate : cuts) {
    if (candidate.time <= cut.time)
      continue;
    const int64_t bytes =
        candidate.tolls.empty()
            ? countCrossing(candidate, counted, ofPause)
            : countPaid(migration, candidate.tolls, counted, ofPause);
    if (const routing::Time time{bytes, candidate.time.rate}; time > cut.time) {
      cut = candidate;
      cut.time = time;
    }
  }
  if (!cut.empty())
    write(migration, cut, ofPause);
}
