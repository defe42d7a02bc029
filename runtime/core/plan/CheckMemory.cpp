// R6: slabs and peaks are as stated. The replay follows the order within a
// round: current tensors first written in it are allocated, everything moves,
// then comes the round's peak behind us, and releases.

#include "core/plan/RefereeRules.h"

#include <algorithm>

using namespace etc::plan;

/// Parameters, in one element type or several, and buffers.
static bool isOfModel(std::string_view type) {
  return type == "param" || type.starts_with("param.") || type == "buffer";
}

namespace {

struct Peak {
  uint64_t bytes = 0;
  uint32_t round = 0;

  void see(uint64_t live, uint32_t now) {
    if (live > bytes)
      *this = {live, now};
  }
};

class MemoryReplay {
public:
  MemoryReplay(const PlanIndex &index, uint32_t program)
      : index(index), program(program),
        allocated{
            std::vector<bool>(index.holdings(program, Side::Curr).size()),
            std::vector<bool>(index.holdings(program, Side::Transit).size())} {
    live = addBytes(index.program(program).send_slab(),
                    index.program(program).recv_slab());
    for (Holding holding : index.holdings(program, Side::Prev))
      live = addBytes(live, index.shardBytes(holding.shard));
    liveSafe = live;
    peak.see(live, 0);
    safePeak.see(live, 0);
  }

  void replay(uint32_t round) {
    if (round == index.firstDeferredRound())
      beginTail();
    uint64_t sent = 0, received = 0;
    for (const fb::Op *op : opsOf(index, program, round)) {
      if (isWrite(*op))
        allocate(*op);
      if (op->kind() == fb::OpKind::send)
        sent = addBytes(sent, index.opBytes(*op));
      if (op->kind() == fb::OpKind::recv)
        received = addBytes(received, index.opBytes(*op));
    }
    busiestSend.see(sent, round);
    busiestRecv.see(received, round);
    peak.see(live, round);
    safePeak.see(liveSafe, round);
    seeTail();
    for (const fb::Op *op : opsOf(index, program, round))
      if (op->kind() == fb::OpKind::release) {
        const uint64_t bytes = bytesOf(releasedSide(*op), op->tensor());
        live -= bytes;
        liveSafe -= op->transit() ? bytes : 0;
      }
  }

  /// Others may have deferred rounds when this program's are over.
  void finish() {
    if (!index.hasTail())
      return;
    if (!isTail)
      beginTail();
    const uint64_t gradients = gradientBytes();
    tailPeak = addBytes(tailPeak, gradients);
    tailPeakSafe = addBytes(tailPeakSafe, gradients);
  }

  Peak peak, safePeak, busiestSend, busiestRecv;
  uint64_t tailPeak = 0, tailPeakSafe = 0; ///< 0 without deferred rounds

private:
  void beginTail() {
    isTail = true;
    seeTail();
  }

  void seeTail() {
    if (!isTail)
      return;
    tailPeak = std::max(tailPeak, live);
    tailPeakSafe = std::max(tailPeakSafe, liveSafe);
  }

  /// Of every parameter and buffer that the device has afterwards.
  uint64_t gradientBytes() const {
    uint64_t elements = 0;
    for (Holding holding : index.holdings(program, Side::Curr))
      if (isOfModel(index.tensor(holding.tensor).type()->string_view()))
        elements = addBytes(elements, index.shardBytes(holding.shard) /
                                          index.elementBytes(holding.tensor));
    return mulBytes(elements, index.plan().gradient_bytes());
  }

  void allocate(const fb::Op &op) {
    const Side side = targetSide(op);
    auto isThere =
        allocated[op.transit()][*index.find(program, side, op.tensor())];
    if (isThere)
      return;
    isThere = true;
    if (index.bindsMemory(program, op))
      return;
    uint64_t bytes = bytesOf(side, op.tensor());
    live = addBytes(live, bytes);
    liveSafe = addBytes(liveSafe, bytes);
  }

  uint64_t bytesOf(Side side, uint32_t tensor) const {
    size_t position = *index.find(program, side, tensor);
    return index.shardBytes(index.holdings(program, side)[position].shard);
  }

  const PlanIndex &index;
  const uint32_t program;
  std::array<std::vector<bool>, 2> allocated; ///< current, transit
  uint64_t live = 0, liveSafe = 0;
  bool isTail = false;
};

} // namespace

Status etc::plan::checkMemory(const PlanIndex &index, uint32_t program) {
  MemoryReplay replay(index, program);
  for (uint32_t r = 0; r != roundsOf(index, program); ++r)
    replay.replay(r);
  replay.finish();
  const fb::Program &stated = index.program(program);
  const std::string path = text("programs[", program, "]");
  if (stated.send_slab() < replay.busiestSend.bytes)
    return malformed(path, ".send_slab: ", stated.send_slab(), " bytes, round ",
                     replay.busiestSend.round, " sends ",
                     replay.busiestSend.bytes);
  if (stated.recv_slab() < replay.busiestRecv.bytes)
    return malformed(path, ".recv_slab: ", stated.recv_slab(), " bytes, round ",
                     replay.busiestRecv.round, " receives ",
                     replay.busiestRecv.bytes);
  if (stated.peak() != replay.peak.bytes)
    return malformed(path, ": peak is ", replay.peak.bytes, " bytes in round ",
                     replay.peak.round, ", the plan states ", stated.peak());
  if (stated.peak_safe() != replay.safePeak.bytes)
    return malformed(path, ": safe peak is ", replay.safePeak.bytes,
                     " bytes, the plan states ", stated.peak_safe());
  if (stated.tail_peak() != replay.tailPeak)
    return malformed(path, ": the tail's peak is ", replay.tailPeak,
                     " bytes, the plan states ", stated.tail_peak());
  if (stated.tail_peak_safe() != replay.tailPeakSafe)
    return malformed(path, ": the tail's safe peak is ", replay.tailPeakSafe,
                     " bytes, the plan states ", stated.tail_peak_safe());
  return Status::success();
}
