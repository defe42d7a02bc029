#include "Schedule.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

using namespace etc::test;

Schedule &Schedule::get() {
  static auto *only = new Schedule;
  return *only;
}

Schedule::Schedule() {
  const char *given = std::getenv("ETC_DOUBLE_SEED");
  seed(given ? std::strtoull(given, nullptr, 10) : 0);
  const char *connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  hasOneQueue = connections && std::string_view(connections) == "1";
  std::thread([this] { run(); }).detach();
}

void Schedule::seed(uint64_t seed) {
  std::lock_guard lock(mutex);
  random.seed(seed + Segment::get().self().slot * uint64_t{0x9e3779b97f4a7c15});
  isPlain_ = seed == 0;
  laziness = isPlain_ ? 0 : random() % 3 * 7;
  changesOfFavour = random() % 3;
}

void Schedule::shareQueue(bool isShared) {
  std::lock_guard lock(mutex);
  hasOneQueue = isShared;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

StreamHandle Schedule::create(int device, bool isBlocking) {
  auto *stream = new StreamState; // never freed: transfers point to it
  std::lock_guard lock(mutex);
  stream->device = device;
  stream->isBlocking = isBlocking;
  stream->priority = random();
  streams.insert(stream);
  return stream;
}

bool Schedule::destroy(StreamHandle stream) {
  std::lock_guard lock(mutex);
  if (!streams.count(stream) || stream->isDestroyed)
    return false;
  // What is on it is done nevertheless (CUDA Driver API 13.0, cuStreamDestroy).
  stream->isDestroyed = true;
  if (stream->work.empty())
    streams.erase(stream);
  return true;
}

StreamHandle Schedule::legacyOf(int device) {
  if (!legacy[device]) {
    legacy[device] = new StreamState;
    legacy[device]->device = device;
    legacy[device]->isLegacy = true;
    streams.insert(legacy[device]);
  }
  return legacy[device];
}

StreamHandle Schedule::find(StreamHandle handle, int device) {
  std::lock_guard lock(mutex);
  if (!handle)
    return legacyOf(device);
  const bool isKnown = streams.count(handle) && !handle->isDestroyed;
  return isKnown && handle->device == device ? handle : nullptr;
}

void Schedule::enqueue(StreamHandle stream, std::shared_ptr<Work> work) {
  {
    std::lock_guard lock(mutex);
    // The null stream and blocking streams wait for each other (CUDA C++
    // Programming Guide 13.0, "Default Stream").
    if (stream->isBlocking || stream->isLegacy)
      for (StreamHandle other : streams)
        if (other->device == stream->device && other->last &&
            (stream->isLegacy ? other->isBlocking : other->isLegacy))
          work->after.push_back(other->last);
    if (hasOneQueue)
      queues[stream->device].push_back(work);
    stream->last = work;
    stream->work.push_back(std::move(work));
  }
  Segment::get().notify();
}

void Schedule::addTask(std::shared_ptr<Work> task) {
  {
    std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
  }
  Segment::get().notify();
}

std::shared_ptr<Work> Schedule::lastOf(StreamHandle stream) {
  std::lock_guard lock(mutex);
  return stream->last;
}

//===----------------------------------------------------------------------===//
// The host's waits
//===----------------------------------------------------------------------===//

bool Schedule::isIdle(StreamHandle stream) {
  bool isIdle = false;
  {
    std::lock_guard lock(mutex);
    isIdle = stream->work.empty();
    ++looks;
  }
  if (auto *look = onLook.load(); look && !isIdle)
    look(stream);
  return isIdle;
}

bool Schedule::isDone(const std::shared_ptr<Work> &work) {
  std::lock_guard lock(mutex);
  ++looks;
  return !work || work->isDone;
}

template <typename Condition>
void Schedule::waitUntil(StreamHandle stream, Condition condition) {
  std::unique_lock lock(mutex);
  while (!condition()) {
    ++looks;
    done.wait_for(lock, std::chrono::milliseconds(1));
    auto *look = onLook.load();
    if (look && stream && !condition()) {
      lock.unlock();
      look(stream);
      lock.lock();
    }
  }
}

void Schedule::wait(StreamHandle stream) {
  waitUntil(stream, [&] { return stream->work.empty(); });
}

void Schedule::wait(const std::shared_ptr<Work> &work) {
  waitUntil(nullptr, [&] { return !work || work->isDone; });
}

void Schedule::waitForDevice(int device) {
  waitUntil(nullptr, [&] {
    return std::all_of(streams.begin(), streams.end(), [&](StreamHandle s) {
      return s->device != device || s->work.empty();
    });
  });
}

bool Schedule::hasTransfers(int device) {
  std::lock_guard lock(mutex);
  for (StreamHandle stream : streams)
    for (const auto &work : stream->work)
      if (stream->device == device && work->isTransfer())
        return true;
  return false;
}

bool Schedule::isInUse(const Range &range) {
  std::lock_guard lock(mutex);
  for (StreamHandle stream : streams)
    for (const auto &work : stream->work)
      if (work->touches(range))
        return true;
  return false;
}

void Schedule::breakDevice(int device, Result error) {
  std::lock_guard lock(mutex);
  if (broken[device] == Success)
    broken[device] = error;
}

Result Schedule::stateOf(int device) {
  std::lock_guard lock(mutex);
  return broken[device];
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

bool Schedule::isReady(const StreamState &stream) const {
  if (stream.work.empty())
    return false;
  const auto &queue = queues[stream.device];
  const bool isFirst = !hasOneQueue || stream.work.front()->hasBegun ||
                       queue.front() == stream.work.front();
  return isFirst &&
         std::all_of(stream.work.front()->after.begin(),
                     stream.work.front()->after.end(),
                     [](const auto &other) { return other->isDone; });
}

/// Something that can be done now, and was not found waiting since the last
/// change.
std::shared_ptr<Work> Schedule::choose(StreamHandle &stream) {
  std::vector<std::pair<StreamHandle, std::shared_ptr<Work>>> open;
  auto add = [&](StreamHandle from, const std::shared_ptr<Work> &work) {
    if (std::find(waiting.begin(), waiting.end(), work) == waiting.end())
      open.emplace_back(from, work);
  };
  for (StreamHandle each : streams)
    if (isReady(*each))
      add(each, each->work.front());
  for (const auto &task : tasks)
    add(nullptr, task);
  if (open.empty())
    return nullptr;
  size_t chosen = isPlain_ ? 0 : random() % open.size();
  // A schedule with favourites starves the others as long as it can, and
  // changes its mind now and then: such orders find what evenly random ones
  // rarely do (Burckhardt et al., ASPLOS 2010).
  if (changesOfFavour > 0) {
    auto rank = [](const auto &entry) {
      return entry.first ? entry.first->priority : 0;
    };
    chosen =
        static_cast<size_t>(std::max_element(open.begin(), open.end(),
                                             [&](const auto &a, const auto &b) {
                                               return rank(a) < rank(b);
                                             }) -
                            open.begin());
    if (open[chosen].first && random() % 32 < changesOfFavour)
      open[chosen].first->priority = random();
  }
  stream = open[chosen].first;
  return open[chosen].second;
}

void Schedule::delay(std::unique_lock<std::mutex> &lock) {
  if (laziness == 0 || random() % 16 >= laziness)
    return;
  // Until somebody asks for results, or for a while.
  const unsigned before = looks;
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::microseconds(300);
  while (looks == before && std::chrono::steady_clock::now() < until) {
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    lock.lock();
  }
}

void Schedule::finish(StreamHandle stream, const std::shared_ptr<Work> &work) {
  work->isDone = true;
  work->after.clear();
  if (!stream) {
    std::erase(tasks, work);
    return;
  }
  stream->work.pop_front();
  if (stream->work.empty())
    stream->last = nullptr;
  if (stream->work.empty() && stream->isDestroyed)
    streams.erase(stream);
}

void Schedule::run() {
  std::unique_lock lock(mutex);
  uint32_t seen = Segment::get().changes();
  Random own(random());
  while (true) {
    if (const uint32_t now = Segment::get().changes(); now != seen) {
      seen = now;
      waiting.clear();
    }
    StreamHandle stream = nullptr;
    std::shared_ptr<Work> work = choose(stream);
    if (!work) {
      lock.unlock();
      Segment::get().waitForChange(seen, 2000);
      lock.lock();
      waiting.clear(); // processes end without a word
      continue;
    }
    delay(lock);
    if (!std::exchange(work->hasBegun, true) && stream && hasOneQueue)
      queues[stream->device].pop_front();
    lock.unlock();
    const Step step = work->step(own);
    lock.lock();
    if (step == Step::Waiting) {
      waiting.push_back(work);
      continue;
    }
    if (step == Step::Done) {
      finish(stream, work);
      done.notify_all();
    }
    Segment::get().notify();
  }
}
