#include "Fibers.h"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <ucontext.h>
#include <utility>
#include <vector>

using namespace etc::test;

// NOLINTBEGIN(readability-identifier-naming): the names of others
extern "C" void etc_run_moves(const etc::runtime::Move *, const uint64_t *,
                              uint32_t, unsigned long long *);
// The kernel's shared memory: the linker marks its ends.
extern "C" __attribute__((visibility("hidden"))) char __start_etc_shared[],
    __stop_etc_shared[];
// NOLINTEND(readability-identifier-naming)

namespace {

enum class State { Ready, AtBarrier, AtShuffle, Done };

struct Fiber {
  ucontext_t context; // to begin with: jumps, which leave signals alone, are
  jmp_buf place;      // several times faster
  bool hasBegun = false;
  std::vector<char> stack = std::vector<char>(64 << 10);
  ThreadPlace thread;
  State state;
  uint64_t value; // of a shuffle: what it gives, then what it gets
  unsigned distance;
};

/// A block under way.
class Block {
public:
  void run(unsigned block, unsigned grid, void (*body)());

  void wait(State reason) {
    fibers[running].state = reason;
    leave();
  }
  /// At an access to memory: after some, another thread comes in between.
  void mayLeave() {
    if (!isRunning || accesses-- > 0)
      return;
    accesses = random() % 256;
    leave();
  }
  void fail(const char *what) {
    if (!fault)
      fault = what;
  }

  std::array<Fiber, kThreads> fibers;
  unsigned running = 0;
  bool isRunning = false;
  unsigned accesses = 0; // until the next one that loses its turn
  std::mt19937 random;
  const char *fault = nullptr;
  void (*body)() = nullptr;

private:
  void leave() {
    isRunning = false;
    if (_setjmp(fibers[running].place) == 0)
      _longjmp(scheduler, 1);
    isRunning = true;
  }
  void enter(Fiber &fiber);
  void releaseWarps();
  void releaseBlock();

  jmp_buf scheduler;
};

Translation translation = nullptr;

Block &block() {
  static auto *only = new Block;
  return *only;
}

/// Block after block.
void fiberMain() {
  block().isRunning = true;
  while (true) {
    block().body();
    block().wait(State::Done);
  }
}

void Block::enter(Fiber &fiber) {
  if (_setjmp(scheduler) != 0)
    return;
  if (std::exchange(fiber.hasBegun, true))
    _longjmp(fiber.place, 1);
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.data();
  fiber.context.uc_stack.ss_size = fiber.stack.size();
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, fiberMain, 0);
  setcontext(&fiber.context);
}

/// Warps whose every thread is at a shuffle, exchange.
void Block::releaseWarps() {
  for (unsigned first = 0; first != kThreads; first += kWarp) {
    Fiber *warp = &fibers[first];
    if (!std::all_of(warp, warp + kWarp, [](const Fiber &fiber) {
          return fiber.state == State::AtShuffle;
        }))
      continue;
    std::array<uint64_t, kWarp> given;
    for (unsigned lane = 0; lane != kWarp; ++lane)
      given[lane] = warp[lane].value;
    for (unsigned lane = 0; lane != kWarp; ++lane) {
      const unsigned source = lane + warp[lane].distance;
      warp[lane].value = given[source < kWarp ? source : lane];
      warp[lane].state = State::Ready;
    }
  }
}

void Block::releaseBlock() {
  if (std::all_of(fibers.begin(), fibers.end(), [](const Fiber &fiber) {
        return fiber.state == State::AtBarrier;
      }))
    for (Fiber &fiber : fibers)
      fiber.state = State::Ready;
}

void Block::run(unsigned number, unsigned grid, void (*kernel)()) {
  body = kernel;
  std::generate(__start_etc_shared, __stop_etc_shared,
                [&] { return static_cast<char>(random()); });
  for (unsigned i = 0; i != kThreads; ++i) {
    Fiber &fiber = fibers[i];
    fiber.thread = {{i}, {number}, {grid}};
    fiber.state = State::Ready;
  }
  while (!fault) {
    std::vector<unsigned> ready;
    for (unsigned i = 0; i != kThreads; ++i)
      if (fibers[i].state == State::Ready)
        ready.push_back(i);
    if (ready.empty())
      break;
    // Each gets a turn; those that lose theirs get another.
    std::shuffle(ready.begin(), ready.end(), random);
    for (unsigned next : ready) {
      running = next;
      enter(fibers[next]);
    }
    releaseWarps();
    releaseBlock();
  }
  if (!std::all_of(fibers.begin(), fibers.end(), [](const Fiber &fiber) {
        return fiber.state == State::Done;
      }))
    fail("threads wait for others that do not come");
  if (fault) // they stand in the middle of the kernel
    for (Fiber &fiber : fibers)
      fiber.hasBegun = false;
}

} // namespace

const ThreadPlace &etc::test::currentThread() {
  return block().fibers[block().running].thread;
}

void etc::test::waitForBlock() { block().wait(State::AtBarrier); }

uint64_t etc::test::shuffleDown(unsigned mask, uint64_t value,
                                unsigned distance) {
  if (mask != ~0u)
    block().fail("a shuffle of less than a warp");
  Fiber &fiber = block().fibers[block().running];
  fiber.value = value;
  fiber.distance = distance;
  block().wait(State::AtShuffle);
  return fiber.value;
}

void etc::test::copyAligned(void *to, const void *from, size_t bytes) {
  const auto addresses =
      reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  if (addresses % bytes != 0)
    block().fail("an access whose width does not divide its address");
  block().mayLeave();
  if (translation) {
    to = translation(reinterpret_cast<uintptr_t>(to), bytes);
    from = translation(reinterpret_cast<uintptr_t>(from), bytes);
  }
  if (to && from)
    std::memcpy(to, from, bytes);
  else
    block().fail("an access to memory that is not there");
}

void etcTranslate(Translation chosen) { translation = chosen; }

const char *etcTakeKernelFault() {
  return std::exchange(block().fault, nullptr);
}

namespace {
struct Arguments {
  const etc::runtime::Move *moves;
  const uint64_t *firstTile;
  uint32_t count;
  unsigned long long *sums;
} arguments;
} // namespace

const char *etcRunKernel(const etc::runtime::Move *moves,
                         const uint64_t *firstTile, uint32_t count,
                         unsigned long long *sums, unsigned grid,
                         const unsigned *blocks, size_t blockCount,
                         uint64_t seed) {
  arguments = {moves, firstTile, count, sums};
  block().random.seed(static_cast<std::mt19937::result_type>(seed));
  block().fault = nullptr;
  std::vector<unsigned> order(blocks, blocks + blockCount);
  std::shuffle(order.begin(), order.end(), block().random);
  for (unsigned number : order)
    if (!block().fault)
      block().run(number, grid, [] {
        etc_run_moves(arguments.moves, arguments.firstTile, arguments.count,
                      arguments.sums);
      });
  return block().fault;
}

// The kernel is compiled with -fsanitize=thread, not for the sanitizer, but for
// its calls before accesses to memory: there, other threads come in between.
// NOLINTBEGIN(readability-identifier-naming)
#ifndef ETC_WITHOUT_FIBERS
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
#define ETC_ACCESS(name)                                                       \
  void __tsan_##name(void *) { block().mayLeave(); }
ETC_ACCESS(read1)
ETC_ACCESS(read2)
ETC_ACCESS(read4)
ETC_ACCESS(read8)
ETC_ACCESS(read16)
ETC_ACCESS(write1)
ETC_ACCESS(write2)
ETC_ACCESS(write4)
ETC_ACCESS(write8)
ETC_ACCESS(write16)
ETC_ACCESS(unaligned_read2)
ETC_ACCESS(unaligned_read4)
ETC_ACCESS(unaligned_read8)
ETC_ACCESS(unaligned_read16)
ETC_ACCESS(unaligned_write2)
ETC_ACCESS(unaligned_write4)
ETC_ACCESS(unaligned_write8)
ETC_ACCESS(unaligned_write16)
#undef ETC_ACCESS
void __tsan_read_range(void *, unsigned long) { block().mayLeave(); }
void __tsan_write_range(void *, unsigned long) { block().mayLeave(); }
}
#endif
// NOLINTEND(readability-identifier-naming)
