#include "core/transport/LocalTransport.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <unordered_map>

using namespace etc::runtime;

namespace {

using Clock = std::chrono::steady_clock;

/// Queues of one kind of item, one a sender.
template <typename Item>
using Queues = std::unordered_map<uint32_t, std::deque<Item>>;

/// What a sender hands over: where its message is.
struct Handle {
  uint64_t bytes;
  std::span<const Bytes> pieces;
  std::span<const View> views;
};

/// Copies pieces to where the receiver wants them.
void copyPieces(std::span<const Bytes> from,
                std::span<const WritableBytes> to) {
  for (size_t i = 0; i != std::min(from.size(), to.size()); ++i)
    std::copy(from[i].begin(), from[i].end(), to[i].begin());
}

/// What has arrived for one rank.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable arrived;
  Queues<Handle> messages;
  Queues<std::vector<std::byte>> notes; // of control
  bool isAborted = false;

  template <typename Item>
  void put(Queues<Item> Mailbox::*queues, uint32_t sender, Item item) {
    {
      std::lock_guard lock(mutex);
      (this->*queues)[sender].push_back(std::move(item));
    }
    arrived.notify_one();
  }

  /// Whether an item of the sender came before the deadline; aborted mailboxes
  /// get no more.
  template <typename Item>
  bool take(Queues<Item> Mailbox::*queues, uint32_t sender,
            Clock::time_point deadline, Item &item) {
    std::unique_lock lock(mutex);
    std::deque<Item> &queue = (this->*queues)[sender];
    arrived.wait_until(lock, deadline,
                       [&] { return isAborted || !queue.empty(); });
    if (queue.empty())
      return false;
    item = std::move(queue.front());
    queue.pop_front();
    return true;
  }
};

} // namespace

struct LocalCluster::Shared {
  explicit Shared(std::vector<uint32_t> devices)
      : devices(std::move(devices)), mailboxes(this->devices.size()) {}

  std::vector<uint32_t> devices;
  std::vector<Mailbox> mailboxes;

  void abort() {
    for (Mailbox &mailbox : mailboxes) {
      {
        std::lock_guard lock(mailbox.mutex);
        mailbox.isAborted = true;
      }
      mailbox.arrived.notify_all();
    }
  }

  Status missing(const char *what, Mailbox &mailbox, uint32_t peer,
                 const Deadline &deadline) const {
    std::lock_guard lock(mailbox.mutex);
    if (mailbox.isAborted)
      return Status(ErrorKind::Peer, "stopped, since another device failed");
    return Status(ErrorKind::Peer,
                  text("no ", what, " from device ", devices[peer], " within ",
                       deadline.seconds(), " s"));
  }
};

class LocalCluster::LocalControl final : public Control {
public:
  LocalControl(Shared &shared, uint32_t rank) : shared(shared), rank(rank) {}

  Status send(uint32_t peer, Bytes message) override {
    shared.mailboxes[peer].put(
        &Mailbox::notes, rank,
        std::vector<std::byte>(message.begin(), message.end()));
    return Status::success();
  }

  Status receive(uint32_t peer, WritableBytes message,
                 const Deadline &deadline) override {
    culprit_ = peer;
    std::vector<std::byte> note;
    Mailbox &inbox = shared.mailboxes[rank];
    if (!inbox.take(&Mailbox::notes, peer, deadline.time(), note))
      return shared.missing("answer", inbox, peer, deadline);
    if (note.size() != message.size())
      return Status(ErrorKind::Peer,
                    text("device ", shared.devices[peer], " sent ", note.size(),
                         " bytes of control, ", message.size(),
                         " were expected"));
    std::copy(note.begin(), note.end(), message.begin());
    return Status::success();
  }

  Status decide(const std::function<Status()> &note) override {
    if (Status s = note(); !s.ok())
      return s;
    for (uint32_t peer = 1; peer != shared.devices.size(); ++peer)
      (void)send(peer, {});
    return Status::success();
  }
  Status awaitDecision(const Deadline &deadline) override {
    (void)send(0, {});
    return receive(0, {}, deadline);
  }

  Status check() override {
    Mailbox &inbox = shared.mailboxes[rank];
    std::lock_guard lock(inbox.mutex);
    return inbox.isAborted
               ? Status(ErrorKind::Peer, "stopped, since another device failed")
               : Status::success();
  }

  std::optional<uint32_t> culprit() const override { return culprit_; }
  void abort(std::string_view) override { shared.abort(); }

private:
  Shared &shared;
  const uint32_t rank;
  std::optional<uint32_t> culprit_;
};

class LocalCluster::Endpoint final : public Transport {
public:
  Endpoint(Shared &shared, uint32_t rank) : shared(shared), rank(rank) {}

  bool sharesMemory() const override { return true; }

  Status post(std::span<const Outgoing> outgoing,
              std::span<Incoming> incoming) override {
    for (const Outgoing &message : outgoing)
      shared.mailboxes[message.peer].put(
          &Mailbox::messages, rank,
          Handle{message.bytes, message.pieces, message.views});
    pending = incoming;
    return Status::success();
  }

  Status wait(const Deadline &deadline) override {
    for (Incoming &message : pending) {
      Handle handle{};
      if (!inbox().take(&Mailbox::messages, message.peer, deadline.time(),
                        handle))
        return missing(message.peer, deadline);
      if (handle.bytes != message.bytes)
        return Status(ErrorKind::Peer,
                      text("device ", shared.devices[message.peer], " sent ",
                           handle.bytes, " bytes, ", message.bytes,
                           " were expected"));
      message.views = handle.views;
      copyPieces(handle.pieces, message.pieces);
    }
    return Status::success();
  }

  void abort() override { shared.abort(); }

  std::optional<uint32_t> culprit() const override { return culprit_; }

private:
  Mailbox &inbox() { return shared.mailboxes[rank]; }

  Status missing(uint32_t peer, const Deadline &deadline) {
    culprit_ = peer;
    return shared.missing("message", inbox(), peer, deadline);
  }

  Shared &shared;
  const uint32_t rank;
  std::span<Incoming> pending;
  std::optional<uint32_t> culprit_;
};

LocalCluster::LocalCluster(std::vector<uint32_t> devices)
    : shared_(std::make_unique<Shared>(std::move(devices))) {
  for (uint32_t rank = 0; rank != shared_->devices.size(); ++rank) {
    endpoints_.push_back(std::make_unique<Endpoint>(*shared_, rank));
    controls_.push_back(std::make_unique<LocalControl>(*shared_, rank));
  }
}

LocalCluster::~LocalCluster() = default;

Transport &LocalCluster::transport(uint32_t rank) { return *endpoints_[rank]; }
Control &LocalCluster::control(uint32_t rank) { return *controls_[rank]; }
