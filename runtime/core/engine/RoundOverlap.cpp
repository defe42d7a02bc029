#include "core/engine/RoundOverlap.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

using namespace etc::runtime;
using etc::plan::Side;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

namespace {

/// Goes through a program's rounds with what is live in its memory.
class LiveBytes {
public:
  LiveBytes(const PlanIndex &index, uint32_t program, Mode mode)
      : index(index), program(program), mode(mode),
        isAllocated{
            std::vector<bool>(index.holdings(program, Side::Curr).size()),
            std::vector<bool>(index.holdings(program, Side::Transit).size())} {
    const auto &stated = index.program(program);
    peak = mode == Mode::Safe ? stated.peak_safe() : stated.peak();
    live = stated.send_slab() + stated.recv_slab();
    for (etc::plan::Holding holding : index.holdings(program, Side::Prev))
      live += index.shardBytes(holding.shard);
  }

  struct Needs {
    bool isMemory; // that none was allocated for before
    bool fits;     // before the release of the last round
  };

  /// Allocates for a round.
  Needs begin(uint32_t round) {
    const uint64_t before = live;
    for (const Op *op : *index.program(program).rounds()->Get(round)->ops())
      if (op->kind() != OpKind::send && op->kind() != OpKind::release &&
          !index.bindsMemory(program, *op))
        allocate(*op);
    const Needs needs{live != before, live <= peak};
    live -= released;
    released = 0;
    for (const Op *op : *index.program(program).rounds()->Get(round)->ops())
      if (op->kind() == OpKind::release &&
          (op->transit() || mode == Mode::Eager))
        released += bytesOf(etc::plan::releasedSide(*op), op->tensor());
    return needs;
  }

private:
  uint64_t bytesOf(Side side, uint32_t tensor) const {
    const size_t position = *index.find(program, side, tensor);
    return index.shardBytes(index.holdings(program, side)[position].shard);
  }
  void allocate(const Op &op) {
    const Side side = etc::plan::targetSide(op);
    auto isHeld =
        isAllocated[op.transit()][*index.find(program, side, op.tensor())];
    live += isHeld ? 0 : bytesOf(side, op.tensor());
    isHeld = true;
  }

  const PlanIndex &index;
  const uint32_t program;
  const Mode mode;
  uint64_t live = 0, peak = 0;
  uint64_t released = 0;                        // by the last round
  std::array<std::vector<bool>, 2> isAllocated; // current, transit
};

} // namespace

/// Whether a round reads what the one before it writes.
static bool readsWhatWasWritten(const PlanIndex &index, uint32_t program,
                                uint32_t round) {
  const auto &rounds = *index.program(program).rounds();
  std::set<std::pair<Side, uint32_t>> written;
  for (const Op *op : *rounds.Get(round - 1)->ops())
    if (op->kind() != OpKind::send && op->kind() != OpKind::release)
      written.emplace(etc::plan::targetSide(*op), op->tensor());
  return std::ranges::any_of(*rounds.Get(round)->ops(), [&](const Op *op) {
    const Side side = op->kind() == OpKind::derive ? Side::Curr
                      : op->kind() == OpKind::send ? etc::plan::sourceSide(*op)
                                                   : Side::Prev;
    return written.count({side, op->source()}) > 0;
  });
}

RoundOverlap::RoundOverlap(const PlanIndex &index, uint32_t program, Mode mode,
                           const Staging &staging, bool mayAllocate) {
  LiveBytes memory(index, program, mode);
  const uint32_t count = index.program(program).rounds()->size();
  for (uint32_t round = 0; round != count; ++round) {
    const auto [isMemory, fits] = memory.begin(round);
    isEarly.push_back(
        round > 0 && fits && (mayAllocate || !isMemory) &&
        !staging.round(round).send.meets(staging.round(round - 1).send) &&
        !staging.round(round).recv.meets(staging.round(round - 1).recv));
    reads.push_back(round > 0 && readsWhatWasWritten(index, program, round));
  }
}

bool etc::runtime::allocatesAhead(const PlanIndex &index, uint32_t program,
                                  Mode mode, Worker &worker) {
  return (mode == Mode::Safe || !worker.allocator().reuses()) &&
         !worker.isHost() && index.holdings(program, Side::Transit).empty();
}
