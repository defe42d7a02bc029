#include "transport/GlooTransport.h"

#include "transport/Collectives.h"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <csignal>
#include <mutex>
#include <unistd.h>

using namespace etc::runtime;

namespace {

using Clock = std::chrono::steady_clock;
using GlooBuffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

/// Messages and hashes do not mix.
constexpr uint64_t kMessageSlot = 0;
constexpr uint64_t kHashSlot = 1;

Bytes bytesOf(const uint64_t &hash) {
  return std::as_bytes(std::span(&hash, 1));
}
WritableBytes bytesOf(uint64_t &hash) {
  return std::as_writable_bytes(std::span(&hash, 1));
}

/// A transfer under way: Gloo's handle and the rank at its other end.
struct Transfer {
  GlooBuffer buffer;
  uint32_t peer;
};

class GlooTransport final : public Transport {
public:
  GlooTransport(std::shared_ptr<gloo::Context> context,
                std::vector<uint32_t> devices)
      : context(std::move(context)), devices(std::move(devices)) {}

  Status post(std::span<const Outgoing> outgoing,
              std::span<Incoming> incoming) override {
    return settle(guard([&] {
      for (Incoming &message : incoming) {
        for (WritableBytes piece : message.pieces)
          receive(message.peer, kMessageSlot, piece);
        receive(message.peer, kHashSlot, bytesOf(message.hash));
      }
      for (const Outgoing &message : outgoing) {
        for (Bytes piece : message.pieces)
          send(message.peer, kMessageSlot, piece);
        send(message.peer, kHashSlot, bytesOf(message.hash));
      }
    }));
  }

  Status wait(Milliseconds timeout) override { return settle(finish(timeout)); }

  Status acknowledge(std::span<const Acknowledgement> received,
                     std::span<Acknowledgement> sent,
                     Milliseconds timeout) override {
    Status posted = guard([&] {
      for (Acknowledgement &entry : sent)
        receive(entry.peer, kHashSlot, bytesOf(entry.hash));
      for (const Acknowledgement &entry : received)
        send(entry.peer, kHashSlot, bytesOf(entry.hash));
    });
    return settle(posted.ok() ? finish(timeout) : posted);
  }

  std::optional<uint32_t> culprit() const override { return culprit_; }

  void abort() override {
    {
      std::lock_guard lock(mutex);
      isAborted = true;
      for (Transfer &transfer : recvs)
        transfer.buffer->abortWaitRecv();
      for (Transfer &transfer : sends)
        transfer.buffer->abortWaitSend();
    }
    // The peers' waits end when the connections do.
    (void)guard([&] { context->closeConnections(); });
  }

private:
  /// Makes an end of a transfer that abort() knows of.
  GlooBuffer &open(std::vector<Transfer> &transfers, uint32_t peer, void *data,
                   size_t bytes) {
    std::lock_guard lock(mutex);
    if (isAborted)
      throw std::runtime_error("stopped");
    transfers.push_back({context->createUnboundBuffer(data, bytes), peer});
    return transfers.back().buffer;
  }

  void send(uint32_t peer, uint64_t slot, Bytes bytes) {
    void *data = const_cast<std::byte *>(bytes.data());
    culprit_ = peer;
    open(sends, peer, data, bytes.size())->send(static_cast<int>(peer), slot);
  }

  void receive(uint32_t peer, uint64_t slot, WritableBytes bytes) {
    culprit_ = peer;
    open(recvs, peer, bytes.data(), bytes.size())
        ->recv(static_cast<int>(peer), slot);
  }

  /// Waits for every transfer under way.
  Status finish(Milliseconds timeout) {
    auto deadline = Clock::now() + timeout;
    auto left = [&] {
      auto rest =
          std::chrono::duration_cast<Milliseconds>(deadline - Clock::now());
      return std::max(rest, Milliseconds(1));
    };
    for (auto [transfers, isSend] :
         {std::pair(&recvs, false), std::pair(&sends, true)}) {
      for (Transfer &transfer : *transfers) {
        culprit_ = transfer.peer;
        bool done = true;
        Status s = guard([&] {
          done = isSend ? transfer.buffer->waitSend(left())
                        : transfer.buffer->waitRecv(left());
        });
        if (!s.ok() || !done)
          return lost(transfer.peer, Clock::now() >= deadline, timeout);
      }
      std::lock_guard lock(mutex);
      transfers->clear();
    }
    return Status::success();
  }

  /// After an error the caller's memory goes. Gloo's thread may be at it: a
  /// handle's end waits for that, and is the end of it.
  Status settle(const Status &status) {
    std::lock_guard lock(mutex);
    if (!status.ok()) {
      recvs.clear();
      sends.clear();
    }
    return status;
  }

  Status lost(uint32_t peer, bool isLate, Milliseconds timeout) const {
    if (isLate)
      return Status(ErrorKind::Peer,
                    text("no answer from device ", devices[peer], " within ",
                         timeout.count() / 1000.0, " s"));
    return Status(ErrorKind::Peer,
                  text("lost the connection to device ", devices[peer]));
  }

  /// Gloo throws; nothing beyond this file does.
  template <typename Body> static Status guard(Body body) {
    try {
      body();
      return Status::success();
    } catch (const std::exception &error) {
      return Status(ErrorKind::Peer, text("Gloo: ", error.what()));
    }
  }

  std::shared_ptr<gloo::Context> context;
  std::vector<uint32_t> devices;
  std::optional<uint32_t> culprit_;
  std::mutex mutex; // of what abort() touches
  std::vector<Transfer> sends, recvs;
  bool isAborted = false;
};

/// Gloo's addresses, through the caller's values.
class CallerStore final : public gloo::rendezvous::Store {
public:
  explicit CallerStore(const GlooOptions &options) : options(options) {}

  void set(const std::string &key, const std::vector<char> &data) override {
    options.put(key, {data.begin(), data.end()});
  }
  std::vector<char> get(const std::string &key) override {
    Result<std::string> value = options.get(key);
    if (!value)
      throw std::runtime_error(value.status().message());
    return {value->begin(), value->end()};
  }
  // get() waits.
  void wait(const std::vector<std::string> &) override {}
  void wait(const std::vector<std::string> &,
            const std::chrono::milliseconds &) override {}

private:
  const GlooOptions &options;
};

/// Gloo writes to peers that may be gone, which by default ends the process
/// before it can say so. What the program has chosen for itself stays.
void outliveBrokenPipes() {
  struct sigaction now = {};
  if (::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
    ::signal(SIGPIPE, SIG_IGN);
}

/// Where every process listens when no host is named.
std::string ownHostName() {
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  return name;
}

} // namespace

bool etc::runtime::hasGloo() { return true; }

Result<std::unique_ptr<Transport>>
etc::runtime::connectGloo(const GlooOptions &options) {
  const auto count = static_cast<uint32_t>(options.devices.size());
  auto start = Clock::now();
  outliveBrokenPipes();
  try {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = options.host.empty() ? ownHostName() : options.host;
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    CallerStore store(options);
    auto context = std::make_shared<gloo::rendezvous::Context>(
        static_cast<int>(options.rank), static_cast<int>(count));
    context->setTimeout(options.timeout);
    context->connectFullMesh(store, device);

    auto transport = std::make_unique<GlooTransport>(context, options.devices);
    if (Status s = barrier(*transport, {options.rank, count}, options.timeout);
        !s.ok())
      return s;
    return std::unique_ptr<Transport>(std::move(transport));
  } catch (const std::exception &error) {
    return Status(Clock::now() - start >= options.timeout ? ErrorKind::Peer
                                                          : ErrorKind::Usage,
                  text("cannot connect the ", count,
                       " processes through Gloo: ", error.what()));
  }
}
