#include "core/transport/HostPath.h"

#include "core/device/CudaDriver.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

using namespace etc::runtime;

namespace {

/// How long copies may take to end after an error.
constexpr std::chrono::seconds kLastWait{5};
/// A copy engine needs as much before it is fast.
constexpr uint64_t kPieceBytes = 1 << 20;

/// A part of a piece that fits into a buffer.
struct Part {
  size_t piece;
  uint64_t offset, bytes;
  bool isFirst, isLast;
};

/// Messages of pieces on the device, and the same with parts in pinned buffers,
/// which the parts of a message use in turn.
template <typename Message, typename Span> struct Group {
  struct Staged {
    Message outer;
    std::byte *buffer = nullptr;
    std::vector<Part> parts;
    std::vector<Span> pieces;
  };
  std::vector<Staged> staged;
  std::vector<Message> inner;

  template <typename BufferOf>
  void layOut(std::span<const Message> messages, uint64_t most,
              BufferOf bufferOf) {
    staged.assign(messages.size(), {});
    inner.clear();
    for (size_t i = 0; i != messages.size(); ++i) {
      Staged &one = staged[i];
      one.outer = messages[i];
      one.buffer = bufferOf(messages[i].peer);
      for (size_t piece = 0; piece != one.outer.pieces.size(); ++piece)
        cut(one, piece, most);
      inner.push_back({one.outer.peer, one.outer.bytes, one.pieces, {}});
    }
  }

private:
  static void cut(Staged &one, size_t piece, uint64_t most) {
    const uint64_t size = one.outer.pieces[piece].size();
    for (uint64_t at = 0; at != size;) {
      const uint64_t bytes = std::min(size - at, most);
      one.parts.push_back({piece, at, bytes, at == 0, at + bytes == size});
      one.pieces.emplace_back(one.buffer, bytes);
      at += bytes;
    }
  }
};
using Sends = Group<Outgoing, Bytes>;
using Receives = Group<Incoming, WritableBytes>;

template <typename Staged>
cuda::Address addressOf(const Staged &staged, const Part &part) {
  return reinterpret_cast<cuda::Address>(
      staged.outer.pieces[part.piece].data() + part.offset);
}

class HostPath final : public Transport {
public:
  HostPath(std::unique_ptr<Transport> hosts, const cuda::DeviceContext &context)
      : hosts(std::move(hosts)), context(context), driver(context.driver()) {}

  ~HostPath() override {
    if (!stop())
      return; // the device may still write to the buffers
    for (auto &[peer, buffer] : buffers)
      driver.cuMemFreeHost(buffer);
    for (cuda::Stream stream : {out, in})
      if (stream)
        driver.cuStreamDestroy_v2(stream);
  }

  uint64_t pieceBytes() const override { return kPieceBytes; }

  Status prepare(const Preparation &plan, const Deadline &deadline) override {
    if (Status s = context.enter(); !s.ok())
      return s;
    constexpr unsigned nonBlocking = 1;
    for (cuda::Stream *stream : {&out, &in})
      if (Status s = driver.check(driver.cuStreamCreate(stream, nonBlocking),
                                  "cannot make a stream");
          !s.ok())
        return s;
    for (auto [peers, isOut] :
         {std::pair(plan.targets, true), std::pair(plan.sources, false)})
      for (uint32_t peer : peers)
        if (Status s = driver.check(
                driver.cuMemHostAlloc(&buffers[{peer, isOut}], pieceBytes(), 0),
                "cannot allocate pinned memory");
            !s.ok())
          return s;
    return hosts->prepare(plan, deadline);
  }

  Status post(std::span<const Outgoing> outgoing,
              std::span<Incoming> incoming) override {
    auto bufferOf = [this](bool isOut) {
      return [this, isOut](uint32_t peer) {
        return static_cast<std::byte *>(buffers.at({peer, isOut}));
      };
    };
    sends.layOut(outgoing, pieceBytes(), bufferOf(true));
    receives.layOut(incoming, pieceBytes(), bufferOf(false));
    for (size_t i = 0; i != outgoing.size(); ++i)
      sends.inner[i].fill = [this, i](size_t at) {
        return fill(sends.staged[i], sends.staged[i].parts[at]);
      };
    for (size_t i = 0; i != incoming.size(); ++i)
      receives.inner[i].take = [this, i](size_t at) {
        return take(receives.staged[i], receives.staged[i].parts[at]);
      };
    return hosts->post(sends.inner, receives.inner);
  }

  Status wait(const Deadline &deadline) override {
    return hosts->wait(deadline);
  }
  std::optional<uint32_t> culprit() const override { return hosts->culprit(); }
  void finish(const Deadline &deadline) override { hosts->finish(deadline); }
  void setBackground(bool isBackground, uint64_t bytesPerSecond) override {
    hosts->setBackground(isBackground, bytesPerSecond);
  }
  void abort() override {
    isAborted = true;
    hosts->abort();
  }

  bool stop() override {
    if (!hosts->stop() || !context.enter().ok())
      return false;
    const auto limit = std::chrono::steady_clock::now() + kLastWait;
    for (cuda::Stream stream : {out, in})
      while (isAtWork(stream)) {
        if (std::chrono::steady_clock::now() > limit)
          return false;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    return true;
  }

  bool hasStopped() const override {
    return hosts->hasStopped() && context.enter().ok() && !isAtWork(out) &&
           !isAtWork(in);
  }

private:
  bool isAtWork(cuda::Stream stream) const {
    return stream && driver.cuStreamQuery(stream) == cuda::kNotReady;
  }

  Status fill(const Sends::Staged &staged, const Part &part) {
    if (part.isFirst && staged.outer.fill)
      if (Status s = staged.outer.fill(part.piece); !s.ok())
        return s;
    if (Status s = context.enter(); !s.ok())
      return s;
    Status status = driver.check(
        driver.cuMemcpyDtoHAsync_v2(staged.buffer, addressOf(staged, part),
                                    part.bytes, out),
        "cannot copy to the host");
    return status.ok() ? awaitStream(out) : status;
  }

  Status take(const Receives::Staged &staged, const Part &part) {
    if (Status s = context.enter(); !s.ok())
      return s;
    Status status =
        driver.check(driver.cuMemcpyHtoDAsync_v2(addressOf(staged, part),
                                                 staged.buffer, part.bytes, in),
                     "cannot copy to the device");
    if (status.ok())
      status = awaitStream(in);
    return status.ok() && part.isLast && staged.outer.take
               ? staged.outer.take(part.piece)
               : status;
  }

  /// What is before a copy in the device's queue may wait for a peer that is
  /// gone.
  Status awaitStream(cuda::Stream stream) {
    cuda::Code code = driver.cuStreamQuery(stream);
    for (; code == cuda::kNotReady; code = driver.cuStreamQuery(stream)) {
      if (isAborted)
        return Status(ErrorKind::Peer, "stopped, since another device failed");
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return driver.check(code, "a copy failed");
  }

  const std::unique_ptr<Transport> hosts;
  const cuda::DeviceContext context;
  const cuda::Driver &driver;
  std::atomic<bool> isAborted{false};
  cuda::Stream out = nullptr, in = nullptr;
  std::map<std::pair<uint32_t, bool>, void *> buffers; // by peer, outgoing
  Sends sends; // of the group that is under way
  Receives receives;
};

} // namespace

Result<std::unique_ptr<Transport>>
etc::runtime::makeHostPath(std::unique_ptr<Transport> overHosts,
                           unsigned ordinal) {
  if (!cuda::findDriver())
    return cuda::findDriver().status();
  Result<cuda::DeviceContext> context =
      cuda::DeviceContext::open(*cuda::findDriver(), ordinal);
  if (!context)
    return context.status();
  return std::unique_ptr<Transport>(
      std::make_unique<HostPath>(std::move(overHosts), *context));
}
