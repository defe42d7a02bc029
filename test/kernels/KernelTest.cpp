// The kernels' own source against the host's moves.

#include "Fibers.h"
#include "RandomTable.h"

#include "core/pack/Copy.h"
#include "core/pack/Hash.h"
#include "core/pack/MoveUnits.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <numeric>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace etc::runtime;
using namespace etc::test;

namespace {

using Data = std::vector<std::byte>;

/// A kernel, from its module.
class Kernel {
public:
  explicit Kernel(const std::string &path)
      : module(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (module)
      entry =
          reinterpret_cast<decltype(entry)>(::dlsym(module, "etcRunKernel"));
  }

  /// Runs these blocks of a grid. Returns what went wrong, or nothing.
  std::string run(std::span<const Move> moves, std::span<uint64_t> sums,
                  unsigned grid, const std::vector<unsigned> &blocks,
                  uint64_t seed) const {
    if (!entry)
      return "no such kernel";
    std::vector<uint64_t> firstTile{0};
    for (const Move &move : moves)
      firstTile.push_back(firstTile.back() + tilesOf(move));
    const char *fault = entry(
        moves.data(), firstTile.data(), static_cast<uint32_t>(moves.size()),
        reinterpret_cast<unsigned long long *>(sums.data()), grid,
        blocks.data(), blocks.size(), seed);
    return fault ? fault : "";
  }

private:
  void *module;
  decltype(&etcRunKernel) entry = nullptr;
};

/// Runs a random table on kernel and host; returns how they differ.
std::string compare(const Kernel &kernel, unsigned seed) {
  const RandomTable table(seed);
  Data ours = table.target(), host = table.target();
  std::vector<uint64_t> sums(table.sums()), hostSums(table.sums());
  std::vector<unsigned> blocks(1 + seed % 7);
  std::iota(blocks.begin(), blocks.end(), 0);
  std::string fault =
      kernel.run(table.movesTo(ours), sums,
                 static_cast<unsigned>(blocks.size()), blocks, seed);
  if (!fault.empty())
    return fault;
  runMoves(table.movesTo(host), hostSums);
  return ours != host ? "other bytes" : sums != hostSums ? "other sums" : "";
}

/// Memory of which only what is written exists.
struct Sparse {
  explicit Sparse(uint64_t bytes)
      : bytes(bytes),
        data(static_cast<std::byte *>(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {}
  ~Sparse() { ::munmap(data, bytes); }
  bool exists() const { return data != MAP_FAILED; }

  uint64_t bytes;
  std::byte *data;
};

struct Runs {
  uint64_t bytes, count;
};

/// Packs runs of over 4 GiB together that have gaps between them, the last tile
/// of them. Returns how the kernel differs from a plain loop.
std::string compareBeyond4GiB(const Kernel &kernel, Runs runs) {
  const uint64_t apart = runs.bytes + 48;
  const Sparse from(runs.count * apart), to(runs.count * runs.bytes);
  if (!from.exists() || !to.exists())
    return "no address space";
  Move move;
  move.from = reinterpret_cast<uint64_t>(from.data);
  move.to = reinterpret_cast<uint64_t>(to.data);
  move.runBytes = runs.bytes;
  move.bytes = runs.count * runs.bytes;
  move.axes = 1;
  move.extent[0] = runs.count;
  move.fromStride[0] = apart;
  move.toStride[0] = runs.bytes;
  move.sum = 0;
  const auto grid = static_cast<unsigned>(tilesOf(move));
  const uint64_t begin = (tilesOf(move) - 1) * kTileBytes;
  Data expected;
  for (uint64_t at = begin; at != move.bytes; ++at) {
    expected.push_back(std::byte(at * 7 + at / 251));
    from.data[at / runs.bytes * apart + at % runs.bytes] = expected.back();
  }
  uint64_t sum = 0;
  std::string fault = kernel.run({&move, 1}, {&sum, 1}, grid, {grid - 1}, 1);
  if (!fault.empty())
    return fault;
  if (std::memcmp(to.data + begin, expected.data(), expected.size()) != 0)
    return "other bytes";
  return sum == hashBytes(expected.data(), expected.size(), begin)
             ? ""
             : "another sum";
}

const std::vector<Runs> kLongMoves = {
    {(uint64_t{5} << 30) + 64, 2}, // units, with a power of two to divide by
    {(uint64_t{5} << 30) + 1, 2},  // bytes, divided bit by bit
    {1001, 6'000'000}};

TEST(Kernels, DoWhatTheHostDoes) {
  const Kernel kernel(ETC_KERNELS);
  const unsigned seed = std::random_device{}();
  for (unsigned i = 0; i != 50; ++i)
    ASSERT_EQ(compare(kernel, seed + i), "") << "seed " << seed + i;
}

TEST(Kernels, CountBeyond4GiB) {
  const Kernel kernel(ETC_KERNELS);
  for (Runs runs : kLongMoves)
    EXPECT_EQ(compareBeyond4GiB(kernel, runs), "") << runs.bytes;
}

TEST(Kernels, DivideAsProcessorsDo) {
  std::mt19937_64 random{std::random_device{}()};
  for (int i = 0; i != 100'000; ++i) {
    const uint64_t a = random() >> random() % 64;
    const uint64_t b = (random() >> random() % 63 >> 1) + 1;
    ASSERT_EQ(divide(a, b), a / b) << a << " / " << b;
  }
}

/// Whether any table tells a kernel from the host. Mutants may crash, and
/// never end, so each has a process of its own.
bool isKilled(const std::string &path) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit noCore{0, 0}, seconds{60, 60};
    ::setrlimit(RLIMIT_CORE, &noCore);
    ::setrlimit(RLIMIT_CPU, &seconds);
    const Kernel kernel(path);
    if (kernel.run({}, {}, 1, {}, 0) == "no such kernel")
      ::_exit(0);
    for (Runs runs : kLongMoves)
      if (!compareBeyond4GiB(kernel, runs).empty())
        ::_exit(1);
    for (unsigned seed = 0; seed != 200; ++seed)
      if (!compare(kernel, seed).empty())
        ::_exit(1);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status != 0;
}

TEST(Kernels, MistakesAreFound) {
  std::istringstream mutants(ETC_MUTANTS);
  for (std::string path; std::getline(mutants, path, ':');)
    EXPECT_TRUE(isKilled(path)) << path << " does as the host does";
}

} // namespace
