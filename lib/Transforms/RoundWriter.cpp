//===- RoundWriter.cpp - Instructions into rounds -------------------------===//

#include "RoundWriter.h"

using namespace etc;
using namespace mlir;

/// The order of the releases that end a round.
static constexpr unsigned releaseOrder = ~0u, passedOnOrder = ~0u - 1;

static Instruction makeRelease(bool transit) {
  return {Action::Release, /*hop=*/0, /*peer=*/0, {}, {}, transit};
}

RoundWriter::RoundWriter(MLIRContext *context, const ProgramFlows &flows,
                         ArrayRef<DeviceProgram> programs)
    : flows(flows), programs(programs), folded(flows.getTable(), parts),
      writer(context), runsOf(flows.getItemCount()), flowsOf(programs.size()) {}

/// Whether a step is done with a portion.
static bool isIn(const Step &step, const Portion &portion) {
  if (!step.isOf(portion.type) || step.isDerive() != portion.derives)
    return false;
  return portion.derives || step.isTransfer() ? step.getHop() == portion.hop
                                              : portion.isFirst();
}

RoundWriter::Round &RoundWriter::roundOf(int64_t number) {
  if (number >= std::ssize(rounds))
    rounds.resize(number + 1);
  return rounds[number];
}

RoundWriter::Bytes RoundWriter::countState(const ItemFlow &flow,
                                           const Run &run) const {
  const int64_t size = flows.getTable().getTypeBytes(run.first.portion.type);
  Bytes bytes;
  for (int64_t number = 0; number < run.count; ++number) {
    const Portion portion = run.get(number);
    bytes.allocated += flow.getAllocated(portion) * size;
    bytes.released += flow.getReleased(portion) * size;
    bytes.arrived += flow.getArrived(portion) * size;
    bytes.passedOn += flow.getPassedOn(portion) * size;
  }
  return bytes;
}

void RoundWriter::addRun(const FlowOfItem &at, const Run &run) {
  const ItemFlow &flow = flows.getFlows(at.item)[at.flow];
  const Portion &portion = run.first.portion;
  const unsigned type = portion.type;
  const int64_t size = flows.getTable().getTypeBytes(type);
  const Bytes state = countState(flow, run);
  auto &[shares, bytes] = roundOf(run.first.round);
  bytes += state;
  const uint32_t *row = rows.data() + at.rows;
  for (const Step &step : flow.steps) {
    const uint32_t whole = *row++;
    if (state.passedOn > 0 && step.isRecv() && step.isTransit() &&
        step.isOf(type))
      shares.push_back({passedOnOrder, type, parts.getPart(whole, 0)});
    if (!isIn(step, portion))
      continue;
    const uint32_t part =
        parts.getPart(whole, step.isTransfer() ? run.column : 0);
    const int64_t elements = parts.getPiece(part).size();
    if (elements == 0)
      continue;
    bytes.sent += step.isSend() ? elements * size : 0;
    bytes.received += step.isRecv() ? elements * size : 0;
    (step.binds ? rounds.front().shares : shares)
        .push_back({step.order, type, part});
  }
  if (!run.get(run.count - 1).isLast())
    return;
  for (size_t i = 0; i < flow.releasedPieces.size(); ++i)
    shares.push_back({releaseOrder, type, parts.getPart(row[i], 0)});
}

/// The elements at the front that have the first one's `key`.
template <typename T, typename KeyFn>
static ArrayRef<T> takeAlike(ArrayRef<T> list, KeyFn key) {
  return list.take_while(
      [&](const T &element) { return key(element) == key(list.front()); });
}

/// One instruction for all types that do the same.
void RoundWriter::writeStep(mlir::Block &block, ProgramOp program,
                            const Instruction &instruction,
                            ArrayRef<Share> shares) {
  SmallVector<std::pair<ArrayRef<Share>, llvm::SmallBitVector>> alike;
  for (ArrayRef<Share> rest = shares; !rest.empty();) {
    ArrayRef<Share> ofType =
        takeAlike(rest, [](const Share &share) { return share.type; });
    rest = rest.drop_front(ofType.size());
    auto isSame = [](const Share &a, const Share &b) {
      return a.part == b.part;
    };
    auto it = llvm::find_if(alike, [&](const auto &entry) {
      return llvm::equal(entry.first, ofType, isSame);
    });
    if (it == alike.end())
      it = &alike.emplace_back(
          ofType, llvm::SmallBitVector(flows.getTable().getTypeCount()));
    it->second.set(ofType.front().type);
  }
  for (const auto &[ofType, types] : alike) {
    numbers.clear();
    for (const Share &share : ofType)
      numbers.push_back(share.part);
    writer.write(block, program, instruction, folded.fold(numbers, types));
  }
}

void RoundWriter::writeRound(unsigned index, ProgramOp program,
                             int64_t number) {
  std::vector<Share> &shares = rounds[number].shares;
  // Shares come item by item, which both ends of a message keep.
  llvm::stable_sort(
      shares, [](const Share &a, const Share &b) { return a.key() < b.key(); });
  OpBuilder builder = OpBuilder::atBlockEnd(&program.getBody().front());
  auto round = RoundOp::create(builder, program.getLoc(), number,
                               /*deferred=*/number >= firstDeferred);
  mlir::Block &block = round.getBody().emplaceBlock();
  for (ArrayRef<Share> rest = shares; !rest.empty();) {
    ArrayRef<Share> step =
        takeAlike(rest, [](const Share &share) { return share.order; });
    rest = rest.drop_front(step.size());
    const unsigned order = step.front().order;
    const bool isRelease = order >= passedOnOrder;
    writeStep(block, program,
              isRelease ? makeRelease(order == passedOnOrder)
                        : programs[index].instructions[order],
              step);
  }
}

void RoundWriter::write(unsigned index, ProgramOp op) {
  // Lists keep their room from program to program.
  for (Round &round : rounds) {
    round.shares.clear();
    round.bytes = {};
  }
  for (const FlowOfItem &flow : flowsOf[index])
    for (const Run &run : runsOf[flow.item])
      addRun(flow, run);
  for (int64_t number = 0; number < std::ssize(rounds); ++number)
    if (!rounds[number].shares.empty())
      writeRound(index, op, number);
  statePeaks(index, op);
}
