// Random instances.

#include "Cases.h"

#include <algorithm>
#include <random>

namespace etc::rounds::testing {
namespace {

constexpr size_t mostUnits = 9;

class Generator {
public:
  explicit Generator(uint64_t seed) : engine(seed) {}

  Problem run();

private:
  /// The same on any machine, which distributions are not.
  int64_t from(int64_t low, int64_t high) {
    return low + int64_t(engine() % uint64_t(high - low + 1));
  }
  bool isOneIn(int64_t count) { return from(1, count) == 1; }
  int32_t drawClass() { return int32_t(from(0, classes - 1)); }
  void addTensor();
  void addHop(int32_t sender, int32_t receiver, int64_t bytes, int64_t chunks,
              int32_t after);
  void addDerived(int32_t deviceClass, int64_t bytes);
  void setMemory();
  void setPorts();

  std::mt19937_64 engine;
  Problem problem;
  int64_t classes = 1;
};

Touch touchOf(int32_t deviceClass) { return {deviceClass, 0, 0, 0, 0}; }

void sortTouches(Unit &unit) {
  std::sort(unit.touches.begin(), unit.touches.end(),
            [](const Touch &a, const Touch &b) {
              return a.deviceClass < b.deviceClass;
            });
}

/// A tensor in chunks from one class to another. The receiver takes its memory
/// with the first; a sender that held it before gives its own back with the
/// last. `after` is the first chunk of the hop before, or -1.
void Generator::addHop(int32_t sender, int32_t receiver, int64_t bytes,
                       int64_t chunks, int32_t after) {
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Unit unit;
    const int64_t part = bytes * (chunk + 1) / chunks - bytes * chunk / chunks;
    Touch out = touchOf(sender), in = touchOf(receiver);
    out.sent = in.received = part;
    if (chunk == 0)
      in.allocated = bytes;
    if (chunk + 1 == chunks && after < 0)
      out.released = bytes;
    unit.touches = {out, in};
    sortTouches(unit);
    if (chunk > 0)
      unit.before = int32_t(problem.units.size()) - 1;
    if (after >= 0)
      unit.after = after + int32_t(chunk);
    problem.units.push_back(unit);
  }
}

/// A cast of what has arrived, in place of what was there.
void Generator::addDerived(int32_t deviceClass, int64_t bytes) {
  Unit unit;
  Touch touch = touchOf(deviceClass);
  touch.allocated = bytes / 2;
  touch.released = isOneIn(2) ? bytes / 2 : 0;
  unit.touches = {touch};
  unit.after = int32_t(problem.units.size()) - 1;
  problem.units.push_back(unit);
}

void Generator::addTensor() {
  const int64_t bytes = from(1, 20), chunks = from(1, 3);
  const int32_t sender = drawClass(), receiver = drawClass();
  const auto first = int32_t(problem.units.size());
  if (sender == receiver) {
    // Kept, but copied.
    Unit unit;
    unit.touches = {{sender, bytes, bytes, 0, 0}};
    problem.units.push_back(unit);
    return;
  }
  addHop(sender, receiver, bytes, chunks, -1);
  const int32_t next = drawClass();
  if (next != sender && next != receiver && isOneIn(2))
    addHop(receiver, next, bytes, chunks, first);
  else if (isOneIn(3))
    addDerived(receiver, bytes);
}

/// States that the units lead from and to, and limits around what they need.
void Generator::setMemory() {
  problem.classes.assign(size_t(classes), {});
  for (ClassMemory &memory : problem.classes)
    memory.prev = isOneIn(2) ? 0 : from(0, 10);
  for (const Unit &unit : problem.units)
    for (const Touch &touch : unit.touches)
      problem.classes[size_t(touch.deviceClass)].prev += touch.released;
  for (ClassMemory &memory : problem.classes)
    memory.curr = memory.prev;
  for (const Unit &unit : problem.units)
    for (const Touch &touch : unit.touches) {
      ClassMemory &memory = problem.classes[size_t(touch.deviceClass)];
      memory.curr += touch.allocated - touch.released;
      memory.sendSlab = std::max(memory.sendSlab, touch.sent);
      memory.recvSlab = std::max(memory.recvSlab, touch.received);
    }
  for (ClassMemory &memory : problem.classes) {
    memory.sendSlab += isOneIn(2) ? 0 : from(0, memory.sendSlab);
    memory.recvSlab += isOneIn(2) ? 0 : from(0, memory.recvSlab);
    memory.limit = std::max(memory.prev, memory.curr) + memory.sendSlab +
                   memory.recvSlab + from(0, 30);
    if (isOneIn(25))
      memory.limit -= std::min<int64_t>(memory.limit, from(1, 20));
    if (isOneIn(20))
      memory.sendSlab /= 2;
  }
}

/// What each class sends and receives occupies a port of its own, and some of
/// it one that all share.
void Generator::setPorts() {
  problem.ports = int32_t(2 * classes) + 1;
  problem.roundTime = from(1, 25);
  for (Unit &unit : problem.units) {
    int64_t shared = 0;
    for (const Touch &touch : unit.touches) {
      if (touch.sent)
        unit.loads.push_back({2 * touch.deviceClass, touch.sent});
      if (touch.received)
        unit.loads.push_back({2 * touch.deviceClass + 1, touch.received});
      shared += isOneIn(2) ? touch.sent / 2 : 0;
    }
    if (shared)
      unit.loads.push_back({problem.ports - 1, shared});
  }
}

Problem Generator::run() {
  classes = from(1, 4);
  for (int64_t tensors = from(1, 5); tensors > 0; --tensors) {
    const size_t before = problem.units.size();
    addTensor();
    if (problem.units.size() > mostUnits)
      problem.units.resize(before);
  }
  setMemory();
  if (isOneIn(2))
    setPorts();
  return std::move(problem);
}

} // namespace

Problem randomProblem(uint64_t seed) { return Generator(seed).run(); }

Problem randomDeferredProblem(uint64_t seed) {
  Problem problem = randomProblem(seed);
  std::mt19937_64 engine(seed);
  for (size_t i = engine() % (problem.units.size() + 1);
       i < problem.units.size(); ++i)
    problem.units[i].isDeferred = true;
  for (ClassMemory &memory : problem.classes) {
    memory.beside = int64_t(engine() % 10);
    memory.limit += int64_t(engine() % 10);
  }
  return problem;
}

} // namespace etc::rounds::testing
