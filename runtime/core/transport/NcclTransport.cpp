#include "core/transport/NcclTransport.h"

#include "core/transport/GpuPlace.h"
#include "core/transport/NcclCommunicator.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

using namespace etc::runtime;

namespace {

/// What NCCL says of a call that went well.
constexpr nccl::Code kFine = nccl::kSuccess;

constexpr size_t kGreetingBytes = 16;

/// What rank 0 tells the others.
struct Agreement {
  nccl::UniqueId id;
  int32_t channels;
  int32_t version;
  uint32_t twins[2]; // ranks on one GPU, unless they are the same
  uint32_t arePartitions;
  GpuPlace place; // of the first
};

class NcclTransport final : public Transport {
public:
  NcclTransport(const cuda::DeviceContext &context, const nccl::Library &nccl,
                NcclOptions options)
      : context(context), driver(context.driver()), options(std::move(options)),
        comm(context, nccl, this->options.lastWait) {}

  ~NcclTransport() override { (void)context.enter(); }

  Status connect(const Agreement &agreed) {
    return counted(
        [&] { return comm.connect(options, agreed.id, agreed.channels); });
  }

  /// NCCL connects a pair in one direction when a group first uses it, for all
  /// new pairs of the group, and blocks until the other ends do the same. So
  /// all that the plan uses are connected here, in one group a rank: whom one
  /// rank sends to expects it in the same group.
  Status prepare(const Preparation &plan, const Deadline &deadline) override {
    const size_t places = plan.targets.size() + plan.sources.size();
    if (places == 0)
      return Status::success();
    if (Status s = context.enter(); !s.ok())
      return s;
    cuda::Address memory = 0;
    if (Status s =
            driver.check(driver.cuMemAlloc_v2(&memory, places * kGreetingBytes),
                         "cannot allocate device memory");
        !s.ok())
      return s;
    Status met = counted([&] {
      return greet(plan, reinterpret_cast<std::byte *>(memory), deadline);
    });
    if (!met.ok()) {
      // Freeing waits for the device, and this may be in a group with a dead
      // peer, which only an abort ends.
      greeting = memory;
      return met;
    }
    driver.cuMemFree_v2(memory);
    return Status::success();
  }

  /// One where launches end with what they launch: a second group would keep
  /// the host from ending the first.
  unsigned groups() const override {
    const char *blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
    const bool isBlocking = blocking && std::string_view(blocking) != "0";
    return isBlocking ? 1 : NcclCommunicator::kMostGroups;
  }
  Status beginAfter(DevicePoint point) override {
    if (!point.event)
      return Status::success();
    Status status = context.enter();
    return status.ok() ? comm.beginAfter(point) : status;
  }
  DevicePoint end() const override { return comm.end(); }

  bool stop() override {
    (void)context.enter();
    const bool isStopped = comm.stop();
    if (isStopped && greeting)
      driver.cuMemFree_v2(std::exchange(greeting, 0));
    return isStopped;
  }

  bool hasStopped() const override {
    (void)context.enter();
    return comm.hasStopped();
  }

  void finish(const Deadline &deadline) override {
    (void)context.enter();
    comm.finish(deadline);
  }

  uint64_t deviceBytes() const override { return taken; }

  Status post(std::span<const Outgoing> outgoing,
              std::span<Incoming> incoming) override {
    if (Status s = context.enter(); !s.ok())
      return s;
    if (outgoing.empty() && incoming.empty())
      return comm.emptyGroup();
    return comm.group(
        [&] {
          nccl::Code code = kFine;
          auto keep = [&](auto call) { code = code == kFine ? call() : code; };
          for (const Incoming &message : incoming)
            for (WritableBytes piece : message.pieces)
              keep([&] { return comm.receive(piece, message.peer); });
          for (const Outgoing &message : outgoing)
            for (Bytes piece : message.pieces)
              keep([&] { return comm.send(piece, message.peer); });
          return code;
        },
        options.timeout);
  }

  Status wait(const Deadline &deadline) override {
    Status status = context.enter();
    return status.ok() ? comm.drain(deadline) : status;
  }

  void abort() override { comm.requestAbort(); }

private:
  /// A first message to every target and from every source.
  Status greet(const Preparation &plan, std::byte *memory,
               const Deadline &deadline) {
    Status status = comm.group(
        [&] {
          nccl::Code code = kFine;
          for (uint32_t peer : plan.sources) {
            if (code == kFine)
              code = comm.receive({memory, kGreetingBytes}, peer);
            memory += kGreetingBytes;
          }
          for (uint32_t peer : plan.targets) {
            if (code == kFine)
              code = comm.send({memory, kGreetingBytes}, peer);
            memory += kGreetingBytes;
          }
          return code;
        },
        deadline);
    return status.ok() ? comm.drain(deadline) : status;
  }

  /// Calls what makes NCCL take memory.
  template <typename Call> Status counted(Call call) {
    const uint64_t before = freeBytes();
    Status status = call();
    const uint64_t now = freeBytes();
    taken += before > now ? before - now : 0;
    return status;
  }

  uint64_t freeBytes() const {
    size_t free = 0, total = 0;
    (void)context.enter();
    driver.cuMemGetInfo_v2(&free, &total);
    return free;
  }

  const cuda::DeviceContext context;
  const cuda::Driver &driver;
  const NcclOptions options;
  cuda::Address greeting = 0; // of a greeting that failed
  uint64_t taken = 0;         // of the device's memory
  NcclCommunicator comm;
};

} // namespace

Status etc::runtime::findNccl() {
  Status status = cuda::findDriverLibrary();
  if (status.ok())
    status = nccl::findLibrary().status();
  // It overrides what a communicator asks for (envConfigOverride in
  // src/init.cc), and a call that blocks has no deadline.
  const char *blocking = std::getenv("NCCL_COMM_BLOCKING");
  if (status.ok() && blocking && std::string_view(blocking) == "1")
    return Status(ErrorKind::Usage,
                  "NCCL_COMM_BLOCKING=1 makes NCCL wait for peers without a "
                  "limit; unset it");
  return status;
}

/// With fewer channels NCCL would not use NVLink or a port as it could. Between
/// nodes each channel of a pair is a connection, so there are not as many.
constexpr int kFewestChannels = 8, kMostChannels = 32, kMostBetweenNodes = 16;
/// From then on a communicator connects rings and trees, over all of its
/// channels, when they are first used (runtimeConn in src/init.cc).
constexpr int kConnectsLater = 22200;

/// Of one channel, for a rank of the node from which a GPU receives: the
/// buffers of NCCL's three protocols (computeBuffSizes in src/init.cc).
constexpr uint64_t kBytesAChannel = 9'600'000;
constexpr uint64_t kMostBytes = 1'100'000'000;

int etc::runtime::channelsFor(const NodeTraffic &traffic, int version) {
  if (traffic.sources == 0 || version < kConnectsLater)
    return kFewestChannels;
  int channels = traffic.isAll ? kMostChannels : kMostBetweenNodes;
  while (channels > kFewestChannels &&
         channels * traffic.sources * kBytesAChannel > kMostBytes)
    channels /= 2;
  return channels;
}

/// Rank 0 hears where all are.
static Status compareGpus(const nccl::Library &library,
                          const NcclOptions &options, const GpuPlace &own,
                          Agreement &agreed) {
  std::vector<GpuPlace> places(options.devices.size());
  places[0] = own;
  for (uint32_t rank = 1; rank != places.size(); ++rank) {
    if (Status s = options.control->receive(
            rank, std::as_writable_bytes(std::span(&places[rank], 1)),
            options.deadline);
        !s.ok())
      return s;
    places[rank].endTexts();
  }
  if (const auto twins = findTwins(places, library.version)) {
    agreed.twins[0] = twins->first, agreed.twins[1] = twins->second;
    agreed.arePartitions = twins->arePartitions;
    agreed.place = places[twins->first];
  }
  return Status::success();
}

static Status checkGpus(const NcclOptions &options, const Agreement &agreed) {
  const auto [first, second] = agreed.twins;
  if (first == second)
    return Status::success();
  if (std::max(first, second) >= options.devices.size())
    return Status(ErrorKind::Peer,
                  text("rank 0 names ranks ", first, " and ", second, ", of ",
                       options.devices.size()));
  const auto who = [&](uint32_t rank) {
    return text("rank ", rank, " (device ", options.devices[rank], ")");
  };
  const std::string both = text(who(first), " and ", who(second));
  if (agreed.arePartitions != 0)
    return Status(ErrorKind::Usage,
                  text(both, " are on two partitions of GPU ", agreed.place.bus,
                       ", which NCCL ", nccl::describeVersion(agreed.version),
                       " takes for one GPU; use NCCL ",
                       nccl::describeVersion(kTellsPartitions),
                       " or later (for MIG's with NCCL_MULTI_RANK_GPU_ENABLE=1)"
                       ", or give each process a GPU of its own"));
  return Status(ErrorKind::Usage,
                text(both, " are both on GPU ", agreed.place.bus,
                     ", and NCCL needs a GPU for each; give each process its "
                     "own (CUDA_VISIBLE_DEVICES, torch.cuda.set_device)"));
}

/// Rank 0 makes the id, and tells it to the others of this change: nothing that
/// an earlier one left can be taken for it.
static Result<Agreement> agree(const nccl::Library &library,
                               const NcclOptions &options,
                               const GpuPlace &own) {
  Agreement agreed{};
  agreed.channels = channelsFor(options.traffic, library.version);
  agreed.version = library.version;
  WritableBytes bytes = std::as_writable_bytes(std::span(&agreed, 1));
  if (options.rank != 0) {
    Status told = options.control->send(0, std::as_bytes(std::span(&own, 1)));
    if (told.ok())
      told = options.control->receive(0, bytes, options.deadline);
    agreed.place.endTexts();
    return told.ok() ? Result<Agreement>(agreed) : Result<Agreement>(told);
  }
  if (Status s = compareGpus(library, options, own, agreed); !s.ok())
    return s;
  if (library.ncclGetUniqueId(&agreed.id) != nccl::kSuccess)
    return Status(ErrorKind::Usage,
                  "NCCL finds no network interface to meet on; name one in "
                  "NCCL_SOCKET_IFNAME");
  for (uint32_t rank = 1; rank != options.devices.size(); ++rank)
    if (Status s = options.control->send(rank, bytes); !s.ok())
      return s;
  return agreed;
}

Result<std::unique_ptr<Transport>>
etc::runtime::connectNccl(const NcclOptions &options) {
  if (Status s = findNccl(); !s.ok())
    return s;
  if (!cuda::findDriver())
    return cuda::findDriver().status();
  const cuda::Driver &driver = *cuda::findDriver();
  const nccl::Library &library = *nccl::findLibrary();
  Result<cuda::DeviceContext> context =
      cuda::DeviceContext::open(driver, options.ordinal);
  if (!context)
    return context.status();
  Result<GpuPlace> place = findPlace(*context);
  if (!place)
    return place.status();
  Result<Agreement> agreed = agree(library, options, *place);
  if (!agreed)
    return agreed.status();
  if (Status s = checkGpus(options, *agreed); !s.ok())
    return s;
  auto transport = std::make_unique<NcclTransport>(*context, library, options);
  if (Status s = transport->connect(*agreed); !s.ok()) {
    // Before the communicator's end, which waits for them.
    options.control->abort(
        text("device ", options.devices[options.rank], ": ", s.message()));
    return s;
  }
  return std::unique_ptr<Transport>(std::move(transport));
}
