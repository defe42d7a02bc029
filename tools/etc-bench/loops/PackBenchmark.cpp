// The loops that every byte goes through on the host: copying a tensor in
// pieces, gathering the rows of a strided box, the hash of a message, the cast
// of a derived parameter, and memcpy of as many bytes to compare with. A name
// such as "gather/row:1024" says how long a contiguous run is.

#include "core/pack/Copy.h"
#include "core/pack/Hash.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <sys/mman.h>

using namespace etc::runtime;

namespace {

/// More than the caches hold.
constexpr uint64_t kBytes = uint64_t{128} << 20;

struct Free {
  void operator()(std::byte *data) const { std::free(data); }
};

/// Memory on large pages where there are, as the runtime's, that has been
/// written to.
class Memory {
public:
  explicit Memory(uint64_t bytes)
      : data_(static_cast<std::byte *>(std::aligned_alloc(2 << 20, bytes))) {
    ::madvise(data_.get(), bytes, MADV_HUGEPAGE);
    std::memset(data_.get(), 1, bytes);
  }
  std::byte *data() const { return data_.get(); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(data()); }

private:
  std::unique_ptr<std::byte, Free> data_;
};

void copyPlainly(benchmark::State &state) {
  Memory from(kBytes), to(kBytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), kBytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(int64_t(state.iterations() * kBytes));
}

/// Every second row of `row` bytes, as a tensor-parallel half of a matrix.
void gather(benchmark::State &state, uint64_t row) {
  Memory from(2 * kBytes), to(kBytes);
  Move move;
  move.from = from.address();
  move.to = to.address();
  move.bytes = kBytes;
  move.runBytes = row;
  move.axes = 1;
  move.extent[0] = kBytes / row;
  move.fromStride[0] = 2 * row;
  move.toStride[0] = row;
  for (auto _ : state) {
    runMove(move);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(int64_t(state.iterations() * kBytes));
}

/// A tensor in pieces, as it goes from thread to thread.
void copyPieces(benchmark::State &state) {
  constexpr uint64_t piece = 16 << 20;
  Memory from(kBytes), to(kBytes);
  for (auto _ : state) {
    for (uint64_t at = 0; at != kBytes; at += piece) {
      Move move;
      move.from = from.address() + at;
      move.to = to.address() + at;
      move.bytes = move.runBytes = piece;
      runMove(move);
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(int64_t(state.iterations() * kBytes));
}

void hash(benchmark::State &state) {
  Memory data(kBytes);
  for (auto _ : state)
    benchmark::DoNotOptimize(hashBytes(data.data(), kBytes, 0));
  state.SetBytesProcessed(int64_t(state.iterations() * kBytes));
}

/// fp32 to bf16; the bytes that are read count.
void cast(benchmark::State &state) {
  Memory from(kBytes), to(kBytes / 2);
  Move move;
  move.kind = MoveKind::CastBf16;
  move.from = from.address();
  move.to = to.address();
  move.bytes = move.runBytes = kBytes / 2;
  for (auto _ : state) {
    runMove(move);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(int64_t(state.iterations() * kBytes));
}

} // namespace

int main(int argc, char **argv) {
  using benchmark::RegisterBenchmark;
  RegisterBenchmark("memcpy", copyPlainly);
  RegisterBenchmark("copy", copyPieces);
  for (uint64_t row : {64, 256, 1024, 4096, 16384})
    RegisterBenchmark(("gather/row:" + std::to_string(row)).c_str(), gather,
                      row);
  RegisterBenchmark("hash", hash);
  RegisterBenchmark("cast", cast);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  benchmark::RunSpecifiedBenchmarks();
}
