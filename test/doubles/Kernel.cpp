// A launch: small tables are run by fibers in random order, long ones by a loop
// over the same bodies (KernelSource.h).

#include "CudaTypes.h"
#include "Fibers.h"

#include "core/pack/MoveUnits.h"

#include <algorithm>

#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

using namespace etc::runtime;
using namespace etc::test;

extern "C" void etcRunByLoop(const Move *moves, const uint64_t *firstTile,
                             uint32_t count, unsigned long long *sums);

namespace {

/// What tables may copy for fibers to run them.
uint64_t mostFiberBytes() {
#ifdef ETC_WITHOUT_FIBERS
  return 0;
#else
  static const uint64_t bytes = [] {
    const char *given = std::getenv("ETC_DOUBLE_FIBER_BYTES");
    return given ? std::strtoull(given, nullptr, 10) : uint64_t{1} << 20;
  }();
  return bytes;
#endif
}

thread_local int device = 0;

/// Where an access of the kernel goes; null where a GPU would fault.
void *placeOf(uint64_t address, size_t bytes) {
  const DeviceMemory &memory = DeviceMemory::get();
  if (!memory.isDevice(address))
    return reinterpret_cast<void *>(address); // of the kernel's own stack
  return memory.translateAccess(address, bytes, device);
}

/// An item may lie on two pages; the pages of an allocation are in a row.
template <typename Item> Item *arrayAt(Address address, uint64_t count) {
  const uint64_t bytes = std::max<uint64_t>(count, 1) * sizeof(Item);
  auto *first = static_cast<std::byte *>(placeOf(address, 1));
  auto *last = static_cast<std::byte *>(placeOf(address + bytes - 1, 1));
  return first && last == first + bytes - 1 ? reinterpret_cast<Item *>(first)
                                            : nullptr;
}

} // namespace

Result etc::test::runKernel(const Launch &launch, uint64_t seed) {
  device = launch.device;
  auto *moves = arrayAt<Move>(launch.moves, launch.count);
  auto *firstTile = arrayAt<uint64_t>(launch.firstTile, launch.count + 1);
  auto *sums = arrayAt<unsigned long long>(launch.sums, 0);
  uint64_t lastSum = 0, bytes = 0;
  for (uint32_t i = 0; moves && i != launch.count; ++i) {
    bytes += moves[i].bytes;
    if (moves[i].sum != kNoSum)
      lastSum = std::max<uint64_t>(lastSum, moves[i].sum + 1);
  }
  const bool hasSums =
      lastSum == 0 || arrayAt<unsigned long long>(launch.sums, lastSum);
  if (!moves || !firstTile || !hasSums) {
    fault("a kernel's table is not in its device's memory");
    return IllegalAddress;
  }
  etcTranslate(placeOf);
  std::string wrong;
  if (bytes <= mostFiberBytes()) {
    std::vector<unsigned> blocks(launch.blocks);
    std::iota(blocks.begin(), blocks.end(), 0);
    const char *told =
        etcRunKernel(moves, firstTile, launch.count, sums, launch.blocks,
                     blocks.data(), blocks.size(), seed);
    wrong = told ? told : "";
  } else {
    etcRunByLoop(moves, firstTile, launch.count, sums);
    const char *told = etcTakeKernelFault();
    wrong = told ? told : "";
  }
  if (wrong.empty())
    return Success;
  fault("kernel: " + wrong);
  return wrong.find("width") != std::string::npos ? MisalignedAddress
                                                  : IllegalAddress;
}
