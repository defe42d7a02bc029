#include "core/device/CudaWorker.h"

#include "core/device/CudaPages.h"
#include "core/device/CudaPool.h"
#include "core/device/KernelImage.h"
#include "core/device/MoveTable.h"
#include "core/memory/PageArena.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace etc::runtime;

namespace {

/// Tables of each lane: what packs two rounds and goes on beside their wire,
/// and what unpacks one.
constexpr size_t kTables[] = {4, 1};
/// Where some buffers have gone and their neighbours have not, pages that both
/// shared are of no use: at the ends of what is released in turn, of what is
/// allocated in turn, and of the slabs.
constexpr uint64_t kSparePages = 4;
/// How long kernels may take to end after an error.
constexpr std::chrono::seconds kLastWait{5};

class CudaWorker final : public Worker {
public:
  CudaWorker(const cuda::DeviceContext &context,
             std::span<const cuda::Device> readers)
      : context(context), driver(context.driver()) {
    const cuda::Device device = context.device();
    if (CudaPages::areSupported(driver, device)) {
      pages = std::make_unique<CudaPages>(driver, device, readers);
      arena = std::make_unique<PageArena>(*pages);
    } else {
      pool = std::make_unique<CudaPool>(context);
    }
    int processors = 0;
    constexpr int blocksEach = 8;
    if (driver.cuDeviceGetAttribute(&processors, cuda::kMultiprocessors,
                                    device) == cuda::kSuccess)
      kernel.mostBlocks = static_cast<uint64_t>(processors) * blocksEach;
  }

  ~CudaWorker() override {
    (void)context.enter();
    if (isAbandoned) {
      leak();
      return;
    }
    for (Queue &queue : queues)
      if (queue.stream)
        driver.cuStreamDestroy_v2(queue.stream);
    if (module)
      driver.cuModuleUnload(module);
  }

  /// Once, in a context that is current.
  Status start() {
    const KernelImage *image = nullptr;
    Status status = findImage(image);
    if (status.ok())
      status = driver.check(driver.cuModuleLoadData(&module, image->data),
                            "cannot load kernels");
    if (status.ok())
      status = driver.check(
          driver.cuModuleGetFunction(&kernel.function, module, "etc_run_moves"),
          "cannot load kernels");
    constexpr unsigned nonBlocking = 1;
    for (Queue &queue : queues)
      if (status.ok())
        status = driver.check(driver.cuStreamCreate(&queue.stream, nonBlocking),
                              "cannot make a stream");
    return status;
  }

  Allocator &allocator() override {
    return arena ? static_cast<Allocator &>(*arena) : *pool;
  }

  Status reserve(uint64_t bytes) override {
    return arena ? arena->prepare(bytes + kSparePages * pages->pageBytes())
                 : Status::success();
  }

  Status rehearse(const Rehearsal &future) override {
    return arena ? arena->rehearse(future) : Status::success();
  }

  /// The driver loads a kernel when it is launched first.
  Status reserveMoves(size_t moves, size_t sums) override {
    if (Status s = context.enter(); !s.ok())
      return s;
    for (size_t lane = 0; lane != std::size(queues); ++lane) {
      for (size_t i = 0; i != kTables[lane]; ++i)
        if (Status s = addTable(queues[lane], i, moves, sums); !s.ok())
          return s;
      if (Status s = launchOnce(queues[lane]); !s.ok())
        return s;
    }
    return Status::success();
  }

  uint64_t heldBytes() const override {
    return arena ? arena->pageBytesHeld() : pool->highWater();
  }

  Status run(std::span<const Move> moves, std::span<uint64_t> sums) override {
    Result<Job> job = begin(Lane::Out, moves, sums.size(), {});
    return job ? end(*job, sums) : job.status();
  }

  Result<Job> begin(Lane lane, std::span<const Move> moves, size_t sums,
                    DevicePoint after) override {
    if (moves.empty())
      return Job{};
    if (Status s = context.enter(); !s.ok())
      return s;
    Queue &queue = queues[static_cast<size_t>(lane)];
    if (after.event)
      if (Status s = driver.check(
              driver.cuStreamWaitEvent(queue.stream, after.event, 0),
              "cannot wait for an event");
          !s.ok())
        return s;
    size_t at = 0;
    if (Status s = findTable(queue, moves.size(), sums, at); !s.ok())
      return s;
    MoveTable &table = *queue.tables[at];
    if (Status s = table.launch(kernel, moves, sums, queue.stream); !s.ok())
      return s;
    Job job;
    job.end = table.end();
    job.table = at * std::size(queues) + static_cast<size_t>(lane);
    return job;
  }

  bool isDone(const Job &job) override {
    return !job.end.event || !context.enter().ok() || tableOf(job).isDone();
  }

  Status end(const Job &job, std::span<uint64_t> sums) override {
    if (!job.end.event)
      return Status::success();
    Status status = context.enter();
    return status.ok() ? tableOf(job).collect(sums) : status;
  }

  bool stop() override {
    if (!context.enter().ok())
      return false;
    const auto limit = std::chrono::steady_clock::now() + kLastWait;
    for (Queue &queue : queues)
      while (driver.cuStreamQuery(queue.stream) == cuda::kNotReady) {
        if (std::chrono::steady_clock::now() > limit)
          return false;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    return true;
  }

  bool hasStopped() const override {
    return context.enter().ok() &&
           std::all_of(std::begin(queues), std::end(queues),
                       [this](const Queue &queue) {
                         return driver.cuStreamQuery(queue.stream) !=
                                cuda::kNotReady;
                       });
  }

  void abandon() override {
    isAbandoned = true;
    if (pool)
      pool->abandon();
  }

  Status download(std::span<std::byte> to, const std::byte *from) override {
    return copy("cannot copy to the host", [&](cuda::Stream stream) {
      return driver.cuMemcpyDtoHAsync_v2(
          to.data(), reinterpret_cast<cuda::Address>(from), to.size(), stream);
    });
  }

  Status upload(std::byte *to, std::span<const std::byte> from) override {
    return copy("cannot copy from the host", [&](cuda::Stream stream) {
      return driver.cuMemcpyHtoDAsync_v2(reinterpret_cast<cuda::Address>(to),
                                         from.data(), from.size(), stream);
    });
  }

  bool isHost() const override { return false; }

private:
  /// Of one lane.
  struct Queue {
    cuda::Stream stream = nullptr;
    std::vector<std::unique_ptr<MoveTable>> tables;
  };

  /// Begins a copy on a stream, and waits for it.
  template <typename Begin> Status copy(const char *failure, Begin begin) {
    if (Status s = context.enter(); !s.ok())
      return s;
    const cuda::Stream stream = queues[0].stream;
    if (Status s = driver.check(begin(stream), failure); !s.ok())
      return s;
    return driver.check(driver.cuStreamSynchronize(stream), failure);
  }

  /// To free memory waits for the device, which never gets there.
  void leak() {
    (void)arena.release();
    (void)pages.release();
    for (Queue &queue : queues)
      for (std::unique_ptr<MoveTable> &table : queue.tables)
        (void)table.release();
  }

  Status addTable(Queue &queue, size_t at, size_t moves, size_t sums) {
    if (at == queue.tables.size())
      queue.tables.push_back(std::make_unique<MoveTable>(driver));
    return queue.tables[at]->reserve(moves, sums);
  }

  /// One with room, or else the next one gets it.
  Status findTable(Queue &queue, size_t moves, size_t sums, size_t &at) {
    size_t idle = queue.tables.size();
    for (at = 0; at != queue.tables.size(); ++at) {
      const MoveTable &table = *queue.tables[at];
      if (table.isInUse())
        continue;
      if (table.hasRoom(moves, sums))
        return Status::success();
      idle = at;
    }
    at = idle;
    return addTable(queue, at, moves, sums);
  }

  MoveTable &tableOf(const Job &job) {
    return *queues[job.table % std::size(queues)]
                .tables[job.table / std::size(queues)];
  }

  Status launchOnce(Queue &queue) {
    MoveTable &table = *queue.tables.front();
    const Move nothing = table.idleMove();
    Status status = table.launch(kernel, {&nothing, 1}, 0, queue.stream);
    return status.ok() ? table.collect({}) : status;
  }

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
  cuda::Module module = nullptr;
  MoveKernel kernel;
  Queue queues[2]; // by lane
  bool isAbandoned = false;
};

} // namespace

/// Whether kernels of `reader` can use pages of `device`.
static Status checkAccess(const cuda::Driver &driver, cuda::Device device,
                          cuda::Device reader) {
  int isPossible = 0;
  Status status =
      driver.check(driver.cuDeviceCanAccessPeer(&isPossible, reader, device),
                   "cannot ask for access between GPUs");
  if (!status.ok() || (isPossible && CudaPages::areSupported(driver, device)))
    return status;
  return Status(ErrorKind::Usage,
                etc::plan::text(
                    "GPU ", reader, " cannot access the memory of GPU ", device,
                    ", from which it receives; make one GPU visible with "
                    "CUDA_VISIBLE_DEVICES, or start processes with --launch=N "
                    "--transport=nccl"));
}

static Result<std::vector<cuda::Device>>
findReaders(const cuda::Driver &driver, cuda::Device device,
            std::span<const unsigned> ordinals) {
  std::vector<cuda::Device> readers;
  for (unsigned ordinal : ordinals) {
    cuda::Device reader = 0;
    Status status =
        driver.check(driver.cuDeviceGet(&reader, static_cast<int>(ordinal)),
                     "no such device");
    if (status.ok() && reader != device)
      status = checkAccess(driver, device, reader);
    if (!status.ok())
      return status;
    if (reader != device)
      readers.push_back(reader);
  }
  return readers;
}

Result<std::unique_ptr<Worker>>
etc::runtime::makeCudaWorker(unsigned ordinal,
                             std::span<const unsigned> readers) {
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
  auto devices = findReaders(*driver, context->device(), readers);
  if (!devices)
    return devices.status();
  auto worker = std::make_unique<CudaWorker>(*context, *devices);
  if (Status s = worker->start(); !s.ok())
    return s;
  return std::unique_ptr<Worker>(std::move(worker));
}
