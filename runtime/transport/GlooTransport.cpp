#include "transport/GlooTransport.h"

#include "transport/OwnAddress.h"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <atomic>
#include <csignal>
#include <future>
#include <mutex>

using namespace etc::runtime;

namespace {

using GlooBuffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

constexpr uint64_t kSlot = 0;
/// Two of them fit into the second-level cache of a core.
constexpr uint64_t kPieceBytes = 1 << 20;
/// Pieces on their way to a peer before the next one is filled: were there
/// more, the first would be out of the cache before it is sent.
constexpr size_t kMostUnderWay = 2;

/// A transfer under way: Gloo's handle, the rank at its other end, and what is
/// to be done with what came.
struct Transfer {
  GlooBuffer buffer;
  uint32_t peer;
  std::function<Status()> take = {};
  bool isDone = false;
};

/// Carries an error of the caller's through Gloo.
struct Refusal {
  Status status;
};

/// Calls visit(message, piece) for the first pieces of all messages, then for
/// the second ones, so that no peer waits for another's message.
template <typename Messages, typename Visit>
void forEachPiece(Messages messages, Visit visit) {
  size_t most = 0;
  for (auto &message : messages)
    most = std::max(most, message.pieces.size());
  for (size_t piece = 0; piece != most; ++piece)
    for (auto &message : messages)
      if (piece < message.pieces.size())
        visit(message, piece);
}

class GlooTransport final : public Transport {
public:
  GlooTransport(std::shared_ptr<gloo::Context> context,
                std::vector<uint32_t> devices)
      : context(std::move(context)), devices(std::move(devices)) {}

  uint64_t pieceBytes() const override { return kPieceBytes; }

  ~GlooTransport() override { stopSending(); }

  bool stop() override {
    stopSending();
    return true;
  }

  /// Another thread fills and sends, so that the caller can do something else
  /// meanwhile.
  Status post(std::span<const Outgoing> outgoing,
              std::span<Incoming> incoming) override {
    Status posted = guard([&] {
      forEachPiece(incoming, [&](Incoming &message, size_t piece) {
        receive(message.peer, message.pieces[piece]);
        if (message.take)
          recvs.back().take = [&message, piece] { return message.take(piece); };
      });
    });
    if (posted.ok() && !outgoing.empty())
      sending = std::async(std::launch::async, [this, outgoing] {
        return guard([&] { sendAll(outgoing); });
      });
    return posted.ok() ? posted : settle(posted);
  }

  Status wait(const Deadline &deadline) override {
    Status status = finishReceiving(deadline);
    if (status.ok() && sending.valid()) {
      const bool isLate =
          sending.wait_until(deadline.time()) != std::future_status::ready;
      culprit_ = sendingTo;
      status = isLate ? lost(sendingTo, true, deadline) : sending.get();
      if (!status.ok() && !isLate && status.kind() == ErrorKind::Peer)
        status = lost(sendingTo, false, deadline);
    }
    return settle(status);
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

  void send(uint32_t peer, Bytes bytes) {
    void *data = const_cast<std::byte *>(bytes.data());
    sendingTo = peer;
    open(sends, peer, data, bytes.size())->send(static_cast<int>(peer), kSlot);
  }

  void receive(uint32_t peer, WritableBytes bytes) {
    culprit_ = peer;
    open(recvs, peer, bytes.data(), bytes.size())
        ->recv(static_cast<int>(peer), kSlot);
  }

  /// Piece by piece, each sent while the cache has it.
  void sendAll(std::span<const Outgoing> outgoing) {
    std::vector<std::vector<size_t>> places(outgoing.size());
    forEachPiece(outgoing, [&](const Outgoing &message, size_t piece) {
      auto &sent = places[&message - outgoing.data()];
      if (piece >= kMostUnderWay)
        waitSent(sent[piece - kMostUnderWay]);
      sendingTo = message.peer;
      if (Status s = message.fill ? message.fill(piece) : Status::success();
          !s.ok())
        throw Refusal{s};
      sent.push_back(sends.size());
      send(message.peer, message.pieces[piece]);
    });
    for (size_t i = 0; i != sends.size(); ++i)
      waitSent(i);
  }

  /// However long it takes: the deadline is that of wait().
  void waitSent(size_t place) {
    Transfer &transfer = sends[place];
    sendingTo = transfer.peer;
    // Gloo tells of an end once.
    if (!transfer.isDone && !transfer.buffer->waitSend(std::chrono::hours(24)))
      throw std::runtime_error("stopped");
    transfer.isDone = true;
  }

  Status finishReceiving(const Deadline &deadline) {
    for (Transfer &transfer : recvs) {
      culprit_ = transfer.peer;
      bool done = true;
      Status s =
          guard([&] { done = transfer.buffer->waitRecv(deadline.left()); });
      if (!s.ok() || !done)
        return lost(transfer.peer, deadline.isOver(), deadline);
      if (transfer.take)
        if (Status taken = transfer.take(); !taken.ok())
          return taken;
    }
    return Status::success();
  }

  /// Nothing is under way afterwards. After an error the caller's memory goes,
  /// and Gloo's thread may be at it: a handle's end waits for that, and is the
  /// end of it.
  Status settle(const Status &status) {
    if (!status.ok())
      stopSending();
    std::lock_guard lock(mutex);
    recvs.clear();
    sends.clear();
    return status;
  }

  void stopSending() {
    if (!sending.valid())
      return;
    {
      std::lock_guard lock(mutex);
      isAborted = true;
      for (Transfer &transfer : sends)
        transfer.buffer->abortWaitSend();
    }
    (void)sending.get();
    std::lock_guard lock(mutex);
    sends.clear();
  }

  Status lost(uint32_t peer, bool isLate, const Deadline &deadline) const {
    if (isLate)
      return Status(ErrorKind::Peer,
                    text("no answer from device ", devices[peer], " within ",
                         deadline.seconds(), " s"));
    return Status(ErrorKind::Peer,
                  text("lost the connection to device ", devices[peer]));
  }

  /// Gloo throws; nothing beyond this file does.
  template <typename Body> static Status guard(Body body) {
    try {
      body();
      return Status::success();
    } catch (const Refusal &refusal) {
      return refusal.status;
    } catch (const std::exception &error) {
      return Status(ErrorKind::Peer, text("Gloo: ", error.what()));
    }
  }

  std::shared_ptr<gloo::Context> context;
  std::vector<uint32_t> devices;
  std::optional<uint32_t> culprit_;
  std::mutex mutex; // of what abort() touches
  std::vector<Transfer> sends, recvs;
  std::future<Status> sending;        // from post() to wait()
  std::atomic<uint32_t> sendingTo{0}; // which peer
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
      throw Refusal{value.status()};
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

} // namespace

bool etc::runtime::hasGloo() { return true; }

Result<std::unique_ptr<Transport>>
etc::runtime::connectGloo(const GlooOptions &options) {
  const auto count = static_cast<uint32_t>(options.devices.size());
  outliveBrokenPipes();
  // Gloo crashes on a name that does not resolve.
  Result<std::string> address = findOwnAddress(options.host);
  if (!address)
    return address.status().at(text("device ", options.devices[options.rank]));
  try {
    gloo::transport::tcp::attr attributes;
    attributes.hostname = *address;
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    CallerStore store(options);
    auto context = std::make_shared<gloo::rendezvous::Context>(
        static_cast<int>(options.rank), static_cast<int>(count));
    context->setTimeout(options.deadline.left());
    context->connectFullMesh(store, device);

    return std::unique_ptr<Transport>(
        std::make_unique<GlooTransport>(context, options.devices));
  } catch (const Refusal &refusal) {
    return Status(refusal.status.kind(),
                  text("cannot connect the ", count,
                       " processes through Gloo: ", refusal.status.message()));
  } catch (const std::exception &error) {
    return Status(options.deadline.isOver() ? ErrorKind::Peer
                                            : ErrorKind::Usage,
                  text("cannot connect the ", count,
                       " processes through Gloo: ", error.what()));
  }
}
