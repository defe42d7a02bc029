// A thread that calls again and again.

#ifndef ETC_RUNTIME_JOB_TICKER_H
#define ETC_RUNTIME_JOB_TICKER_H

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace etc::runtime {

/// Calls `tick` with the time since the last call, which is longer than the
/// interval where the machine is loaded or the process was stopped. A thread of
/// its own, which needs no lock of an interpreter.
class Ticker {
public:
  using Milliseconds = std::chrono::milliseconds;

  Ticker(Milliseconds interval, std::function<void(Milliseconds)> tick)
      : interval(interval), tick(std::move(tick)), thread([this] { run(); }) {}

  ~Ticker() {
    {
      std::lock_guard lock(mutex);
      isOver = true;
    }
    changed.notify_all();
    thread.join();
  }

private:
  using Clock = std::chrono::steady_clock;

  void run() {
    Clock::time_point last = Clock::now();
    std::unique_lock lock(mutex);
    while (!changed.wait_until(lock, last + interval, [&] { return isOver; })) {
      lock.unlock();
      const Clock::time_point now = Clock::now();
      tick(std::chrono::duration_cast<Milliseconds>(now - last));
      last = now;
      lock.lock();
    }
  }

  const Milliseconds interval;
  const std::function<void(Milliseconds)> tick;
  std::mutex mutex;
  std::condition_variable changed;
  bool isOver = false;
  std::thread thread;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_TICKER_H
