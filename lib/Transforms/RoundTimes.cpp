//===- RoundTimes.cpp - What rounds take ----------------------------------===//

#include "RoundTimes.h"

using namespace etc;
using namespace mlir;

RoundTimes::RoundTimes(ResourcesAttr resources, const ProgramFlows &flows,
                       ArrayRef<DeviceProgram> programs, const Devices &devices,
                       const BothHoldings &holdings)
    : resources(resources), flows(flows), programs(programs), devices(devices),
      packings(flows, programs, holdings), nicOf(findNics(resources, devices)),
      // Messages, their acknowledgements, and some 10 us of the device's own.
      beginning(2 * resources.getNicLatency() + 10'000),
      portSeconds(findPortSeconds()) {}

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
        arrivals(times.devices.size()) {}

  void add(const Chunk &chunk) {
    for (const ItemFlow &flow : times.flows.getFlows(chunk.item))
      for (const Step &step : flow.steps)
        if (step.isTransfer())
          add(times.programs[flow.program], step, chunk.portion);
  }
  void endRound();
  double getEnd() const { return *llvm::max_element(ends); }
  /// Of the links and NICs in this round.
  double getBusiest() const;

private:
  void add(const DeviceProgram &program, const Step &step,
           const Portion &portion);
  void addPacking(const DeviceProgram &program, bool isSend, int64_t bytes);
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
  std::vector<double> ends, arrivals;
};

void RoundTimes::Clock::addPacking(const DeviceProgram &program, bool isSend,
                                   int64_t bytes) {
  const double seconds = double(bytes) / double(times.resources.getPackRate());
  for (int64_t device : program.devices.front())
    (isSend ? packs[device].out : packs[device].in) += seconds;
}

void RoundTimes::Clock::add(const DeviceProgram &program, const Step &step,
                            const Portion &portion) {
  const int64_t bytes = elementsOf(step, portion) *
                        times.flows.getTable().getTypeBytes(portion.type);
  if (bytes == 0)
    return;
  if (times.packings.isPacked(step, portion))
    addPacking(program, step.isSend(), bytes);
  if (!step.isSend())
    return;
  for (auto [from, to] : llvm::zip_equal(
           program.devices.front(), program.devices[step.instruction->peer])) {
    const bool isFar = times.devices.getNode(from) != times.devices.getNode(to);
    const int64_t rate =
        isFar ? times.resources.getNicRate() : times.resources.getLinkRate();
    messages.push_back({from, to, double(bytes) / double(rate), isFar});
    outOf(messages.back()).out += messages.back().seconds;
    intoOf(messages.back()).in += messages.back().seconds;
  }
}

double RoundTimes::Clock::getBusiest() const {
  double most = 0;
  for (const std::vector<Load> *loads : {&links, &nics})
    for (const Load &it : *loads)
      most = std::max(most, it.most());
  return most;
}

void RoundTimes::Clock::endRound() {
  for (const Message &it : messages) {
    const double arrival = std::max(ends[it.from] + packs[it.from].out,
                                    ends[it.to] + packs[it.to].out) +
                           std::max(outOf(it).most(), intoOf(it).most()) +
                           packs[it.to].in + 1e-9 * double(times.beginning);
    arrivals[it.to] = std::max(arrivals[it.to], arrival);
  }
  // A device that has received all of a round answers, and a sender waits for
  // its answers.
  for (const Message &it : messages)
    for (int64_t device : {it.from, it.to})
      ends[device] = std::max(ends[device], arrivals[it.to]);
  for (const Message &it : messages)
    outOf(it) = intoOf(it) = packs[it.from] = packs[it.to] = {};
  messages.clear();
}

double RoundTimes::findPortSeconds() const {
  Clock clock(*this);
  for (unsigned item = 0; item < flows.getItemCount(); ++item)
    for (unsigned type = 0; type < flows.getTable().getTypeCount(); ++type) {
      if (flows.getTable().isDeferred(type))
        continue;
      unsigned last = 0;
      for (const ItemFlow &flow : flows.getFlows(item))
        last = std::max(last, flow.getLastHop(type));
      for (unsigned hop = 0; hop <= last; ++hop)
        clock.add({item, {type, 0, 1, hop, /*derives=*/false}});
    }
  return clock.getBusiest();
}

RoundTimes::Seconds RoundTimes::secondsOf(const rounds::Solution &solution,
                                          ArrayRef<Chunk> chunks) const {
  std::vector<SmallVector<unsigned>> byRound(solution.rounds);
  for (auto [chunk, round] : llvm::enumerate(solution.roundOf))
    byRound[round].push_back(chunk);
  Clock clock(*this);
  std::optional<double> pause;
  for (ArrayRef<unsigned> numbers : byRound) {
    if (flows.getTable().isDeferred(chunks[numbers.front()].portion.type))
      pause = pause.value_or(clock.getEnd());
    for (unsigned number : numbers)
      clock.add(chunks[number]);
    clock.endRound();
  }
  const double all = clock.getEnd();
  return {pause.value_or(all), all};
}
