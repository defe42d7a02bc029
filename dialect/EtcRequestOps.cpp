//===- EtcRequestOps.cpp - What the ops of a request know -----------------===//

#include "dialect/Etc.h"
#include "dialect/NameMarks.h"

#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace etc;
using namespace mlir;

//===----------------------------------------------------------------------===//
// MigrationOp
//===----------------------------------------------------------------------===//

int64_t MigrationOp::getSliceCount() {
  return std::lcm(getPrev().getTp(), getCurr().getTp());
}

int64_t MigrationOp::getExpertSliceCount() {
  return std::lcm(getPrev().getEtp(), getCurr().getEtp());
}

std::pair<int64_t, int64_t> MigrationOp::getChunk(Side side, int64_t chunk) {
  ParallelAttr parallel = getParallel(side);
  ArrayRef<int64_t> stages = parallel.getStages();
  if (!stages.empty()) {
    int64_t begin =
        std::accumulate(stages.begin(), stages.begin() + chunk, int64_t(0));
    return {begin, begin + stages[chunk]};
  }
  int64_t count = static_cast<int64_t>(getLayers()) /
                  (parallel.getPp() * parallel.getVpp());
  return {chunk * count, (chunk + 1) * count};
}

bool MigrationOp::hasPart(Side side, int64_t chunk, ::etc::Part part) {
  ParallelAttr parallel = getParallel(side);
  int64_t pp = parallel.getPp(), last = pp * parallel.getVpp() - 1;
  if (part == ::etc::Part::Embed)
    return chunk == 0;
  if (part == ::etc::Part::Mtp && parallel.getMtpStage() >= 0)
    return chunk == last + 1 - pp + parallel.getMtpStage();
  auto predictsMore = [&] {
    return llvm::any_of(getOps<TensorOp>(), [](TensorOp tensor) {
      return tensor.getPart() == ::etc::Part::Mtp;
    });
  };
  const bool isLast = chunk == last;
  if (part != ::etc::Part::Final)
    return isLast;
  auto [begin, end] = getChunk(side, chunk);
  const bool endsLayers =
      begin < end && end == static_cast<int64_t>(getLayers());
  // All tensors are looked at only where it makes a difference.
  return isLast == endsLayers || !predictsMore() ? isLast : endsLayers;
}

SmallVector<std::pair<int64_t, int64_t>>
MigrationOp::getLayersOf(Side side, int64_t stage) {
  ParallelAttr parallel = getParallel(side);
  SmallVector<std::pair<int64_t, int64_t>> ranges;
  for (int64_t chunk = 0; chunk < parallel.getVpp(); ++chunk) {
    auto range = getChunk(side, chunk * parallel.getPp() + stage);
    if (range.first < range.second)
      ranges.push_back(range);
  }
  return ranges;
}

int64_t MigrationOp::getDeviceCount() {
  return std::accumulate(getNodes().begin(), getNodes().end(), int64_t(0));
}

MatrixAttr MigrationOp::getCosts(CostUnit unit) {
  for (CostMatrixOp matrix : getOps<CostMatrixOp>())
    if (matrix.getUnit() == unit)
      return matrix.getCosts();
  return {};
}

int64_t MigrationOp::getFirstOfNic(int64_t device) {
  int64_t begin = 0, size = 0;
  for (int64_t node : getNodes()) {
    begin += size;
    size = node;
    if (device < begin + size)
      break;
  }
  const int64_t nics = std::min(getResourcesAttr().getNics(), size);
  int64_t first = device;
  while (first > begin &&
         nics * (first - 1 - begin) / size == nics * (device - begin) / size)
    --first;
  return first;
}

TimeBoundOp MigrationOp::getTimeBound(bool ofPause) {
  for (TimeBoundOp bound : getOps<TimeBoundOp>())
    if (bound.getOfPause() == ofPause)
      return bound;
  return {};
}

int64_t MigrationOp::countDeferredRounds() {
  int64_t rounds = 0, pause = 0;
  for (ProgramOp program : getOps<ProgramOp>())
    for (RoundOp round : program.getBody().getOps<RoundOp>()) {
      const int64_t end = round.getIndex() + 1;
      rounds = std::max(rounds, end);
      if (!round.getDeferred())
        pause = std::max(pause, end);
    }
  return rounds - pause;
}

SmallVector<int64_t> MigrationOp::getPrevPlacement() {
  if (auto devices = getPrevDevices())
    return SmallVector<int64_t>(*devices);
  return llvm::to_vector(llvm::seq<int64_t>(getPrev().getWorld()));
}

//===----------------------------------------------------------------------===//
// TensorOp
//===----------------------------------------------------------------------===//

std::string TensorOp::getShortName() {
  StringRef name = getName();
  if (size_t mark = name.find(layerMark); mark != StringRef::npos)
    name = name.drop_front(mark + layerMark.size()).ltrim('.');
  size_t mark = name.find(expertMark);
  if (mark == StringRef::npos)
    return name.str();
  StringRef rest = name.drop_front(mark + expertMark.size());
  return (name.take_front(mark).rtrim('.') + rest).str();
}

bool TensorOp::isOn(ParallelAttr parallel) {
  // What an inventory has depends on no stages.
  if (!getTiedTo() || parallel.getInventory())
    return true;
  bool isFirst = getPart() == ::etc::Part::Mtp && parallel.getMtpStage() == 0;
  return parallel.getPp() > 1 && !isFirst;
}

bool TensorOp::isInLayer(int64_t layer) {
  std::optional<ArrayRef<int64_t>> range = getOfLayers();
  return !range || ((*range)[0] <= layer && layer < (*range)[1]);
}
