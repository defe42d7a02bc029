// The gather kernel against a device-to-device copy of as many bytes, for rows
// of several lengths; JSON on stdout. Times are of the whole call, descriptor
// upload included, medians of paired runs.

#include "core/device/CudaWorker.h"
#include "core/pack/Copy.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

using namespace etc::runtime;

namespace {

constexpr uint64_t kBytes = uint64_t{1} << 30;
constexpr int kRepetitions = 21;

/// Seconds of the median run.
template <typename Run> double median(Run run) {
  std::vector<double> seconds;
  for (int i = 0; i != kRepetitions; ++i) {
    auto start = std::chrono::steady_clock::now();
    run();
    std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - start;
    seconds.push_back(spent.count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRepetitions / 2,
                   seconds.end());
  return seconds[kRepetitions / 2];
}

/// Every second run of `row` bytes of the source, packed.
Move gatherOf(Buffer source, Buffer target, uint64_t row) {
  Move move;
  move.from = reinterpret_cast<uint64_t>(source.data);
  move.to = reinterpret_cast<uint64_t>(target.data);
  move.bytes = kBytes;
  move.runBytes = row;
  move.axes = 1;
  move.extent[0] = kBytes / row;
  move.fromStride[0] = 2 * row;
  move.toStride[0] = row;
  return move;
}

int fail(const Status &status) {
  std::fprintf(stderr, "etc-bench-gpu: %s\n", status.message().c_str());
  return 2;
}

} // namespace

int main() {
  Result<std::unique_ptr<Worker>> made = makeCudaWorker(0);
  if (!made)
    return fail(made.status());
  Worker &worker = **made;
  Result<Buffer> source = worker.allocator().allocate(2 * kBytes);
  Result<Buffer> target = worker.allocator().allocate(kBytes);
  if (!source || !target)
    return fail(source ? target.status() : source.status());
  const cuda::Driver &driver = *cuda::findDriver();

  auto copy = [&] {
    driver.cuMemcpyDtoDAsync_v2(reinterpret_cast<cuda::Address>(target->data),
                                reinterpret_cast<cuda::Address>(source->data),
                                kBytes, nullptr);
    driver.cuStreamSynchronize(nullptr);
  };
  uint64_t sum = 0;
  copy();
  std::printf("{ \"format\": \"etc-gpu-kernel\", \"bytes\": %llu, \"rows\": [",
              static_cast<unsigned long long>(kBytes));
  bool isFirst = true;
  for (bool hashed : {false, true})
    for (uint64_t row :
         {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 16384, 65536}) {
      Move move = gatherOf(*source, *target, row);
      move.sum = hashed ? 0 : kNoSum;
      Status status = Status::success();
      auto gather = [&] { status = worker.run({&move, 1}, {&sum, 1}); };
      gather();
      double gathered = median(gather), copied = median(copy);
      if (!status.ok())
        return fail(status);
      std::printf("%s\n  { \"row_bytes\": %llu, \"hashed\": %s, "
                  "\"gather_gb_per_second\": %.1f, "
                  "\"copy_gb_per_second\": %.1f, \"share\": %.3f }",
                  isFirst ? "" : ",", static_cast<unsigned long long>(row),
                  hashed ? "true" : "false", kBytes / gathered / 1e9,
                  kBytes / copied / 1e9, copied / gathered);
      isFirst = false;
    }
  std::printf("\n] }\n");
  return 0;
}
