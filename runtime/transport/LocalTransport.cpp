#include "transport/LocalTransport.h"

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
  uint64_t hash;
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
  Queues<uint64_t> hashes;
  bool isAborted = false;

  template <typename Item>
  void put(Queues<Item> Mailbox::*queues, uint32_t sender, Item item) {
    {
      std::lock_guard lock(mutex);
      (this->*queues)[sender].push_back(item);
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
    item = queue.front();
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
          Handle{message.bytes, message.pieces, message.views, message.hash});
    pending = incoming;
    return Status::success();
  }

  Status wait(Milliseconds timeout) override {
    auto deadline = Clock::now() + timeout;
    for (Incoming &message : pending) {
      Handle handle{};
      if (!inbox().take(&Mailbox::messages, message.peer, deadline, handle))
        return missing("message", message.peer, timeout);
      if (handle.bytes != message.bytes)
        return Status(ErrorKind::Peer,
                      text("device ", shared.devices[message.peer], " sent ",
                           handle.bytes, " bytes, ", message.bytes,
                           " were expected"));
      message.views = handle.views;
      message.hash = handle.hash;
      copyPieces(handle.pieces, message.pieces);
    }
    return Status::success();
  }

  Status acknowledge(std::span<const Acknowledgement> received,
                     std::span<Acknowledgement> sent,
                     Milliseconds timeout) override {
    for (const Acknowledgement &entry : received)
      shared.mailboxes[entry.peer].put(&Mailbox::hashes, rank, entry.hash);
    auto deadline = Clock::now() + timeout;
    for (Acknowledgement &entry : sent)
      if (!inbox().take(&Mailbox::hashes, entry.peer, deadline, entry.hash))
        return missing("acknowledgement", entry.peer, timeout);
    return Status::success();
  }

  void abort() override {
    for (Mailbox &mailbox : shared.mailboxes) {
      {
        std::lock_guard lock(mailbox.mutex);
        mailbox.isAborted = true;
      }
      mailbox.arrived.notify_all();
    }
  }

  std::optional<uint32_t> culprit() const override { return culprit_; }

private:
  Mailbox &inbox() { return shared.mailboxes[rank]; }

  Status missing(const char *what, uint32_t peer, Milliseconds timeout) {
    culprit_ = peer;
    std::lock_guard lock(inbox().mutex);
    if (inbox().isAborted)
      return Status(ErrorKind::Peer, "stopped, since another device failed");
    return Status(ErrorKind::Peer,
                  text("no ", what, " from device ", shared.devices[peer],
                       " within ", timeout.count() / 1000.0, " s"));
  }

  Shared &shared;
  const uint32_t rank;
  std::span<Incoming> pending;
  std::optional<uint32_t> culprit_;
};

LocalCluster::LocalCluster(std::vector<uint32_t> devices)
    : shared_(std::make_unique<Shared>(std::move(devices))) {
  for (uint32_t rank = 0; rank != shared_->devices.size(); ++rank)
    endpoints_.push_back(std::make_unique<Endpoint>(*shared_, rank));
}

LocalCluster::~LocalCluster() = default;

Transport &LocalCluster::transport(uint32_t rank) { return *endpoints_[rank]; }
