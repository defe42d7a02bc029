#include "transport/NcclTransport.h"

#include "transport/NcclCommunicator.h"

#include <algorithm>
#include <cstring>

using namespace etc::runtime;

namespace {

/// What NCCL says of a call that went well.
constexpr nccl::Code kFine = nccl::kSuccess;

class NcclTransport final : public Transport {
public:
  NcclTransport(const cuda::Driver &driver, const nccl::Library &nccl,
                NcclOptions options)
      : driver(driver), options(std::move(options)), comm(driver, nccl) {}

  ~NcclTransport() override {
    if (control)
      driver.cuMemFree_v2(control);
    if (staging)
      driver.cuMemFreeHost(staging);
  }

  Status connect(nccl::UniqueId id) {
    freeBefore = freeBytes();
    Status status = comm.connect(options, id);
    if (!status.ok())
      return status;
    // Places of 8 bytes: of what goes, then of what comes, by rank.
    const size_t bytes = 2 * options.devices.size() * sizeof(uint64_t);
    void *pinned = nullptr;
    status = driver.check(driver.cuMemAlloc_v2(&control, bytes),
                          "cannot allocate device memory");
    if (status.ok())
      status = driver.check(driver.cuMemHostAlloc(&pinned, bytes, 0),
                            "cannot allocate pinned memory");
    staging = static_cast<std::byte *>(pinned);
    if (status.ok())
      std::memset(staging, 0, bytes);
    return status;
  }

  /// A first message to each planned peer makes the connections, which NCCL
  /// would else make in the first round.
  Status prepare(const Preparation &plan, Milliseconds timeout) override {
    comm.registerMemory(plan.sendSlab);
    comm.registerMemory(plan.recvSlab);
    std::vector<Acknowledgement> out, in;
    for (uint32_t peer : plan.targets)
      out.push_back({peer, 0});
    for (uint32_t peer : plan.sources)
      in.push_back({peer, 0});
    return acknowledge(out, in, timeout);
  }

  void forgetSlabs() override { comm.forgetMemory(); }

  uint64_t deviceBytes() const override {
    uint64_t now = freeBytes();
    return freeBefore > now ? freeBefore - now : 0;
  }

  Status post(std::span<const Outgoing> outgoing,
              std::span<Incoming> incoming) override {
    pending = incoming;
    if (outgoing.empty() && incoming.empty())
      return Status::success();
    for (const Outgoing &message : outgoing)
      stage(message.peer, message.hash);
    if (Status s = upload(); !s.ok())
      return s;
    return comm.group(
        [&] {
          nccl::Code code = kFine;
          auto keep = [&](auto call) { code = code == kFine ? call() : code; };
          for (const Incoming &message : incoming) {
            for (WritableBytes piece : message.pieces)
              keep([&] { return comm.receive(piece, message.peer); });
            keep([&] { return receiveHash(message.peer); });
          }
          for (const Outgoing &message : outgoing) {
            for (Bytes piece : message.pieces)
              keep([&] { return comm.send(piece, message.peer); });
            keep([&] { return sendHash(message.peer); });
          }
          return code;
        },
        options.timeout);
  }

  Status wait(Milliseconds timeout) override {
    if (pending.empty())
      return comm.drain(timeout);
    if (Status s = download(timeout); !s.ok())
      return s;
    for (Incoming &message : pending)
      message.hash = staged(message.peer);
    pending = {};
    return Status::success();
  }

  Status acknowledge(std::span<const Acknowledgement> received,
                     std::span<Acknowledgement> sent,
                     Milliseconds timeout) override {
    if (received.empty() && sent.empty())
      return Status::success();
    for (const Acknowledgement &entry : received)
      stage(entry.peer, entry.hash);
    Status status = upload();
    if (status.ok())
      status = exchangeHashes(received, sent, timeout);
    if (status.ok())
      status = download(timeout);
    if (status.ok())
      for (Acknowledgement &entry : sent)
        entry.hash = staged(entry.peer);
    return status;
  }

  void abort() override { comm.requestAbort(); }

private:
  // Hashes travel through device memory: those that go in its first half, those
  // that come in its second.
  size_t halfBytes() const { return options.devices.size() * sizeof(uint64_t); }
  static size_t placeOf(uint32_t peer) { return peer * sizeof(uint64_t); }

  void stage(uint32_t peer, uint64_t hash) {
    std::memcpy(staging + placeOf(peer), &hash, sizeof hash);
  }
  uint64_t staged(uint32_t peer) const {
    uint64_t hash;
    std::memcpy(&hash, staging + halfBytes() + placeOf(peer), sizeof hash);
    return hash;
  }

  Status upload() {
    return driver.check(driver.cuMemcpyHtoDAsync_v2(control, staging,
                                                    halfBytes(), comm.stream()),
                        "cannot copy to the device");
  }
  /// First waits for all that is on the stream: that wait ends when a peer is
  /// gone, one within the driver need not.
  Status download(Milliseconds timeout) {
    Status status = comm.drain(timeout);
    if (status.ok())
      status = driver.check(driver.cuMemcpyDtoHAsync_v2(
                                staging + halfBytes(), control + halfBytes(),
                                halfBytes(), comm.stream()),
                            "cannot copy to the host");
    return status.ok() ? comm.drain(timeout) : status;
  }

  std::byte *onDevice(size_t offset) const {
    return reinterpret_cast<std::byte *>(control + offset);
  }
  nccl::Code sendHash(uint32_t peer) {
    return comm.send({onDevice(placeOf(peer)), sizeof(uint64_t)}, peer);
  }
  nccl::Code receiveHash(uint32_t peer) {
    return comm.receive(
        {onDevice(halfBytes() + placeOf(peer)), sizeof(uint64_t)}, peer);
  }

  Status exchangeHashes(std::span<const Acknowledgement> received,
                        std::span<const Acknowledgement> sent,
                        Milliseconds timeout) {
    return comm.group(
        [&] {
          nccl::Code code = kFine;
          for (const Acknowledgement &entry : sent)
            if (code == kFine)
              code = receiveHash(entry.peer);
          for (const Acknowledgement &entry : received)
            if (code == kFine)
              code = sendHash(entry.peer);
          return code;
        },
        timeout);
  }

  uint64_t freeBytes() const {
    size_t free = 0, total = 0;
    driver.cuMemGetInfo_v2(&free, &total);
    return free;
  }

  const cuda::Driver &driver;
  const NcclOptions options;
  cuda::Address control = 0;
  std::byte *staging = nullptr;
  uint64_t freeBefore = 0;
  std::span<Incoming> pending;
  NcclCommunicator comm;
};

} // namespace

Status etc::runtime::findNccl() {
  Status driver = cuda::findDriverLibrary();
  return driver.ok() ? nccl::findLibrary().status() : driver;
}

Result<std::unique_ptr<Transport>>
etc::runtime::connectNccl(const NcclOptions &options) {
  if (Status s = findNccl(); !s.ok())
    return s;
  if (!cuda::findDriver())
    return cuda::findDriver().status();
  const cuda::Driver &driver = *cuda::findDriver();
  const nccl::Library &library = *nccl::findLibrary();
  if (Result<cuda::Device> device = cuda::useDevice(driver, options.ordinal);
      !device)
    return device.status();
  nccl::UniqueId mine{};
  if (options.rank == 0 && library.ncclGetUniqueId(&mine) != nccl::kSuccess)
    return Status(ErrorKind::Usage,
                  "NCCL finds no network interface to meet on; name one in "
                  "NCCL_SOCKET_IFNAME");
  Result<nccl::UniqueId> id =
      options.exchangeId(options.rank == 0 ? &mine : nullptr);
  if (!id)
    return id.status();
  auto transport = std::make_unique<NcclTransport>(driver, library, options);
  if (Status s = transport->connect(*id); !s.ok())
    return s;
  return std::unique_ptr<Transport>(std::move(transport));
}
