// Random instances.

#include "Cases.h"

#include <random>
#include <set>
#include <sstream>

namespace etc::routing::testing {
namespace {

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}

  /// The same on any machine, which distributions are not.
  int64_t from(int64_t low, int64_t high) {
    return low + int64_t(engine() % uint64_t(high - low + 1));
  }
  bool isOneIn(int64_t count) { return from(1, count) == 1; }

private:
  std::mt19937_64 engine;
};

/// A node is drawn whole or by devices, as replicas and groups have it.
std::vector<bool> drawDevices(Random &random, const Problem &problem) {
  std::vector<bool> drawn(problem.devices.size());
  const int64_t percent = random.from(10, 90);
  const bool wholeNodes = random.isOneIn(3);
  std::vector<bool> nodes;
  for (int32_t node = 0; node < problem.nodes(); ++node)
    nodes.push_back(random.from(1, 100) <= percent);
  for (size_t i = 0; i < drawn.size(); ++i)
    drawn[i] = wholeNodes ? nodes[size_t(problem.nodeOf(int32_t(i)))]
                          : random.from(1, 100) <= percent;
  return drawn;
}

/// Devices here and there; more on some nodes than on others.
std::vector<bool> drawUneven(Random &random, const Problem &problem) {
  if (random.isOneIn(3))
    return drawDevices(random, problem);
  std::vector<int64_t> percent(size_t(problem.nodes()), random.from(2, 40));
  if (random.isOneIn(2))
    for (int64_t &ofNode : percent)
      ofNode = random.from(0, 100);
  std::vector<bool> drawn(problem.devices.size());
  for (size_t i = 0; i < drawn.size(); ++i)
    drawn[i] =
        random.from(1, 100) <= percent[size_t(problem.nodeOf(int32_t(i)))];
  return drawn;
}

using Draw = std::vector<bool> (*)(Random &, const Problem &);

std::string drawAtom(Random &random, const Problem &problem, Draw draw) {
  const std::vector<bool> holds = draw(random, problem),
                          needs = draw(random, problem);
  std::ostringstream holders, needers;
  for (size_t i = 0; i < holds.size(); ++i) {
    const Status status = problem.devices[i].status;
    if (holds[i] && (status == Status::Usable || status == Status::Draining))
      holders << " " << i;
    else if (needs[i] && status == Status::Usable)
      needers << " " << i;
  }
  if (holders.str().empty() || needers.str().empty())
    return "";
  return "atom " + std::to_string(random.from(1, 1000) * 1000) + ":" +
         holders.str() + " ->" + needers.str() + "\n";
}

/// Gives one device in so many another status than usable.
void drawStatuses(Random &random, Problem &cluster, int64_t devices) {
  for (Device &device : cluster.devices)
    if (random.isOneIn(devices))
      device.status = random.isOneIn(3)   ? Status::Failed
                      : random.isOneIn(2) ? Status::Spare
                                          : Status::Draining;
}

Problem drawAtoms(Random &random, const Problem &cluster, int64_t most,
                  Draw draw) {
  std::string text = writeCase(cluster);
  for (int64_t i = random.from(1, most); i > 0; --i)
    text += drawAtom(random, cluster, draw);
  return readCase(text).problem;
}

} // namespace

Problem randomProblem(uint64_t seed) {
  Random random(seed);
  Problem cluster;
  const auto nodes = random.from(1, 4), perNode = random.from(1, 4);
  const int64_t nic = random.from(1, 4) * 1'000'000,
                link = nic * (random.isOneIn(3) ? 1 : random.from(4, 9));
  for (int64_t i = 0; i < nodes; ++i)
    addNode(cluster, int32_t(perNode),
            int32_t(random.isOneIn(3) ? (perNode + 1) / 2 : perNode), link,
            nic);
  drawStatuses(random, cluster, 12);
  return drawAtoms(random, cluster, 6, drawDevices);
}

Problem unevenProblem(uint64_t seed) {
  Random random(seed);
  Problem cluster;
  const int64_t nodes = random.from(1, 4), nic = random.from(1, 4) * 1'000'000,
                link = nic * random.from(4, 18);
  for (int64_t i = 0; i < nodes; ++i) {
    const int64_t devices = random.from(1, 5);
    addNode(cluster, int32_t(devices), int32_t(random.from(1, devices)), link,
            nic);
  }
  drawStatuses(random, cluster, 7);
  return drawAtoms(random, cluster, 8, drawUneven);
}

Tolls randomTolls(const Problem &problem, uint64_t seed) {
  Random random(seed);
  const int64_t percent = random.from(10, 90);
  Tolls tolls;
  while (tolls.empty()) {
    std::set<int32_t> seen;
    for (int32_t device = 0; device < int32_t(problem.devices.size());
         ++device) {
      if (problem.takesPart(device))
        for (auto *list : {&tolls.linksOut, &tolls.linksIn})
          if (random.from(1, 100) <= percent)
            list->push_back(device);
      if (seen.insert(problem.devices[size_t(device)].nic).second)
        for (auto *list : {&tolls.nicsOut, &tolls.nicsIn})
          if (random.from(1, 100) <= percent)
            list->push_back(device);
    }
  }
  return tolls;
}

} // namespace etc::routing::testing
