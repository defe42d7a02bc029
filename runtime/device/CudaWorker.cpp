#include "device/CudaWorker.h"

#include "device/CudaPages.h"
#include "device/CudaPool.h"
#include "device/KernelImage.h"
#include "device/MoveTable.h"
#include "memory/PageArena.h"

#include <algorithm>
#include <utility>

using namespace etc::runtime;

namespace {

class CudaWorker final : public Worker {
public:
  explicit CudaWorker(const cuda::DeviceContext &context)
      : context(context), driver(context.driver()), table(driver) {
    const cuda::Device device = context.device();
    if (CudaPages::areSupported(driver, device)) {
      pages = std::make_unique<CudaPages>(driver, device);
      arena = std::make_unique<PageArena>(*pages);
    } else {
      pool = std::make_unique<CudaPool>(context);
    }
    if (driver.cuDeviceGetAttribute(&processors, cuda::kMultiprocessors,
                                    device) != cuda::kSuccess)
      processors = 1;
  }

  ~CudaWorker() override {
    (void)context.enter();
    if (stream)
      driver.cuStreamDestroy_v2(stream);
  }

  /// Once, in a context that is current.
  Status start() {
    const KernelImage *image = nullptr;
    Status status = findImage(image);
    cuda::Module module = nullptr;
    if (status.ok())
      status = driver.check(driver.cuModuleLoadData(&module, image->data),
                            "cannot load kernels");
    if (status.ok())
      status = driver.check(
          driver.cuModuleGetFunction(&kernel, module, "etc_run_moves"),
          "cannot load kernels");
    constexpr unsigned nonBlocking = 1;
    if (status.ok())
      status = driver.check(driver.cuStreamCreate(&stream, nonBlocking),
                            "cannot make a stream");
    return status;
  }

  Allocator &allocator() override {
    return arena ? static_cast<Allocator &>(*arena) : *pool;
  }

  Status reserve(uint64_t bytes) override {
    return arena ? arena->prepare(bytes) : Status::success();
  }

  Status reserveMoves(size_t moves, size_t sums) override {
    if (Status s = context.enter(); !s.ok())
      return s;
    return table.reserve(moves, sums);
  }

  uint64_t heldBytes() const override {
    return arena ? arena->pageBytesHeld() : pool->highWater();
  }

  Status run(std::span<const Move> moves, std::span<uint64_t> sums) override {
    if (moves.empty())
      return Status::success();
    if (Status s = context.enter(); !s.ok())
      return s;
    if (Status s = table.upload(moves, sums.size(), stream); !s.ok())
      return s;
    // Enough blocks for every processor's threads; they share out the tiles.
    constexpr uint64_t blocksEach = 8;
    uint64_t most = static_cast<uint64_t>(processors) * blocksEach;
    auto blocks = static_cast<unsigned>(std::min(table.tiles(), most));
    if (blocks > 0)
      if (Status s = driver.check(
              driver.cuLaunchKernel(kernel, blocks, 1, 1, kBlockThreads, 1, 1,
                                    0, stream, table.arguments(), nullptr),
              "cannot launch");
          !s.ok())
        return s;
    return table.addSums(sums, stream);
  }

  Status download(std::span<std::byte> to, const std::byte *from) override {
    if (Status s = context.enter(); !s.ok())
      return s;
    Status status =
        driver.check(driver.cuMemcpyDtoHAsync_v2(
                         to.data(), reinterpret_cast<cuda::Address>(from),
                         to.size(), stream),
                     "cannot copy to the host");
    return status.ok() ? driver.check(driver.cuStreamSynchronize(stream),
                                      "cannot copy to the host")
                       : status;
  }

  bool isHost() const override { return false; }

private:
  Status findImage(const KernelImage *&image) {
    int major = 0, minor = 0;
    for (auto [value, attribute] : {std::pair(&major, cuda::kCapabilityMajor),
                                    std::pair(&minor, cuda::kCapabilityMinor)})
      if (Status s = driver.check(
              driver.cuDeviceGetAttribute(value, attribute, context.device()),
              "cannot ask for the compute capability");
          !s.ok())
        return s;
    image = chooseImage(kernelImages(), major * 10 + minor);
    if (image)
      return Status::success();
    return Status(ErrorKind::Usage,
                  etc::plan::text("no kernels for a GPU of compute capability ",
                                  major, ".", minor, ": this build has ",
                                  describeImages(kernelImages())));
  }

  const cuda::DeviceContext context;
  const cuda::Driver &driver;
  std::unique_ptr<CudaPages> pages;
  std::unique_ptr<PageArena> arena;
  std::unique_ptr<CudaPool> pool;
  MoveTable table;
  cuda::Function kernel = nullptr;
  cuda::Stream stream = nullptr;
  int processors = 0;
};

} // namespace

Result<std::unique_ptr<Worker>> etc::runtime::makeCudaWorker(unsigned ordinal) {
  const Result<cuda::Driver> &driver = cuda::findDriver();
  if (!driver)
    return driver.status();
  if (kernelImages().empty())
    return Status(ErrorKind::Usage,
                  "built without GPU kernels, which device memory needs; run "
                  "tools/dev/kernels, which fetches a compiler for them, and "
                  "build again");
  Result<cuda::DeviceContext> context =
      cuda::DeviceContext::open(*driver, ordinal);
  if (!context)
    return context.status();
  auto worker = std::make_unique<CudaWorker>(*context);
  if (Status s = worker->start(); !s.ok())
    return s;
  return std::unique_ptr<Worker>(std::move(worker));
}
