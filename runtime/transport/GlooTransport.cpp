#include "transport/GlooTransport.h"

#include "transport/Collectives.h"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <unistd.h>

using namespace etc::runtime;

namespace {

using Clock = std::chrono::steady_clock;
using GlooBuffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

/// Messages and acknowledgements do not mix.
constexpr uint64_t kMessageSlot = 0;
constexpr uint64_t kHashSlot = 1;

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
    return guard([&] {
      for (Incoming &message : incoming)
        for (WritableBytes piece : message.pieces)
          receive(message.peer, kMessageSlot, piece);
      for (const Outgoing &message : outgoing)
        for (Bytes piece : message.pieces)
          send(message.peer, kMessageSlot, piece);
    });
  }

  Status wait(Milliseconds timeout) override { return finish(timeout); }

  Status acknowledge(std::span<const Acknowledgement> received,
                     std::span<Acknowledgement> sent,
                     Milliseconds timeout) override {
    Status posted = guard([&] {
      for (Acknowledgement &entry : sent)
        receive(entry.peer, kHashSlot,
                std::as_writable_bytes(std::span(&entry.hash, 1)));
      for (const Acknowledgement &entry : received)
        send(entry.peer, kHashSlot, std::as_bytes(std::span(&entry.hash, 1)));
    });
    return posted.ok() ? finish(timeout) : posted;
  }

  void abort() override {
    // The peers' waits end when the connections do.
    (void)guard([&] { context->closeConnections(); });
  }

private:
  void send(uint32_t peer, uint64_t slot, Bytes bytes) {
    void *data = const_cast<std::byte *>(bytes.data());
    sends.push_back({context->createUnboundBuffer(data, bytes.size()), peer});
    sends.back().buffer->send(static_cast<int>(peer), slot);
  }

  void receive(uint32_t peer, uint64_t slot, WritableBytes bytes) {
    recvs.push_back(
        {context->createUnboundBuffer(bytes.data(), bytes.size()), peer});
    recvs.back().buffer->recv(static_cast<int>(peer), slot);
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
        bool done = true;
        Status s = guard([&] {
          done = isSend ? transfer.buffer->waitSend(left())
                        : transfer.buffer->waitRecv(left());
        });
        if (!s.ok() || !done)
          return lost(transfer.peer, Clock::now() >= deadline, timeout);
      }
      transfers->clear();
    }
    return Status::success();
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
  std::vector<Transfer> sends, recvs;
};

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
  try {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = options.host.empty() ? ownHostName() : options.host;
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore store(options.rendezvous);
    auto context = std::make_shared<gloo::rendezvous::Context>(
        static_cast<int>(options.rank), static_cast<int>(count));
    context->setTimeout(options.timeout);
    context->connectFullMesh(store, device);

    auto transport = std::make_unique<GlooTransport>(context, options.devices);
    if (Status s = barrier(*transport, {options.rank, count}, options.timeout);
        !s.ok())
      return s;
    // All have met: another run may use the directory.
    for (const std::string &file : store.getAllKeyFilePaths())
      ::unlink(file.c_str());
    return std::unique_ptr<Transport>(std::move(transport));
  } catch (const std::exception &error) {
    if (Clock::now() - start >= options.timeout)
      return Status(ErrorKind::Peer,
                    text("not all of the ", count, " processes met in ",
                         options.rendezvous, " within ",
                         options.timeout.count() / 1000.0, " s"));
    return Status(ErrorKind::Usage,
                  text("cannot connect through ", options.rendezvous, ": ",
                       error.what()));
  }
}
