//===- RoundTimes.cpp - What rounds take ----------------------------------===//

#include "RoundTimes.h"

using namespace etc;
using namespace mlir;

RoundTimes::RoundTimes(ResourcesAttr resources, const ProgramFlows &flows,
                       ArrayRef<DeviceProgram> programs, const Devices &devices)
    : resources(resources), flows(flows), programs(programs), devices(devices),
      // Messages, their acknowledgements, and some 10 us of the device's own.
      beginning(2 * resources.getNicLatency() + 10'000) {
  SmallVector<int64_t> sizes(devices.getNodeCount()), seen(sizes.size());
  for (int64_t device = 0; device < devices.size(); ++device)
    ++sizes[devices.getNode(device)];
  for (int64_t device = 0; device < devices.size(); ++device) {
    const int64_t node = devices.getNode(device),
                  nics = std::min(resources.getNics(), sizes[node]);
    nicOf.push_back(node * resources.getNics() +
                    seen[node]++ * nics / sizes[node]);
  }
}

/// A slab is made for portions of all bytes. Where some are deferred, those of
/// the pause progress in enough portions of this size.
int64_t RoundTimes::countPortions(ArrayRef<rounds::ClassTotals> totals) const {
  int64_t hops = 0, bytes = 0, urgent = 0;
  for (unsigned item = 0; item < flows.getItemCount(); ++item)
    for (const ItemFlow &flow : flows.getFlows(item))
      for (unsigned type = 0; type < flows.getTable().getTypeCount(); ++type)
        hops = std::max<int64_t>(hops, flow.getLastHop(type));
  for (const rounds::ClassTotals &it : totals)
    bytes = std::max({bytes, it.sent, it.received});
  for (const ProgramMemory &it : flows.getMemories())
    urgent = std::max({urgent, it.urgentSent, it.urgentReceived});
  const int64_t portions =
      rounds::countPortions(urgent, resources.getNicRate(), beginning, hops);
  return urgent == 0 ? 1 : llvm::divideCeil(bytes, urgent) * portions;
}

namespace {
struct Message {
  int64_t from, to;
  double seconds;
  bool isFar;
};

/// Seconds of each direction.
struct Load {
  double out = 0, in = 0;
  double most() const { return std::max(out, in); }
};
} // namespace

class RoundTimes::Clock {
public:
  explicit Clock(const RoundTimes &times)
      : times(times), links(times.devices.size()),
        nics(times.devices.getNodeCount() * times.resources.getNics()),
        packs(times.devices.size()), ends(times.devices.size()),
        nextEnds(times.devices.size()) {}

  void add(const Chunk &chunk) {
    for (const ItemFlow &flow : times.flows.getFlows(chunk.item))
      for (const Step &step : flow.steps)
        if (step.isSend())
          add(flow.program, step, chunk.portion);
  }
  void endRound();
  double getEnd() const { return *llvm::max_element(ends); }

private:
  void add(unsigned program, const Step &step, const Portion &portion);
  Load &outOf(const Message &it) {
    return it.isFar ? nics[times.nicOf[it.from]] : links[it.from];
  }
  Load &intoOf(const Message &it) {
    return it.isFar ? nics[times.nicOf[it.to]] : links[it.to];
  }

  const RoundTimes &times;
  std::vector<Message> messages; ///< of this round
  /// Of this round, by device and by NIC; packs are those of each device.
  std::vector<Load> links, nics, packs;
  std::vector<double> ends, nextEnds;
};

void RoundTimes::Clock::add(unsigned program, const Step &step,
                            const Portion &portion) {
  const int64_t bytes = elementsOf(step, portion) *
                        times.flows.getTable().getTypeBytes(portion.type);
  if (bytes == 0)
    return;
  const DeviceProgram &it = times.programs[program];
  for (auto [from, to] : llvm::zip_equal(it.devices.front(),
                                         it.devices[step.instruction->peer])) {
    const bool isFar = times.devices.getNode(from) != times.devices.getNode(to);
    const int64_t rate =
        isFar ? times.resources.getNicRate() : times.resources.getLinkRate();
    messages.push_back({from, to, double(bytes) / double(rate), isFar});
    outOf(messages.back()).out += messages.back().seconds;
    intoOf(messages.back()).in += messages.back().seconds;
    packs[from].out += double(bytes) / double(times.resources.getPackRate());
    packs[to].in += double(bytes) / double(times.resources.getPackRate());
  }
}

void RoundTimes::Clock::endRound() {
  for (const Message &it : messages) {
    const double end = std::max(ends[it.from] + packs[it.from].out,
                                ends[it.to] + packs[it.to].out) +
                       std::max(outOf(it).most(), intoOf(it).most()) +
                       packs[it.to].in + 1e-9 * double(times.beginning);
    for (int64_t device : {it.from, it.to})
      nextEnds[device] = std::max(nextEnds[device], end);
  }
  for (const Message &it : messages) {
    outOf(it) = intoOf(it) = packs[it.from] = packs[it.to] = {};
    ends[it.from] = nextEnds[it.from];
    ends[it.to] = nextEnds[it.to];
  }
  messages.clear();
}

double RoundTimes::secondsOf(const rounds::Solution &solution,
                             ArrayRef<Chunk> chunks) const {
  std::vector<SmallVector<unsigned>> byRound(solution.rounds);
  for (auto [chunk, round] : llvm::enumerate(solution.roundOf))
    byRound[round].push_back(chunk);
  Clock clock(*this);
  for (ArrayRef<unsigned> numbers : byRound) {
    // What waits for the tail is the end of the first step.
    if (flows.getTable().isDeferred(chunks[numbers.front()].portion.type))
      break;
    for (unsigned number : numbers)
      clock.add(chunks[number]);
    clock.endRound();
  }
  return clock.getEnd();
}
