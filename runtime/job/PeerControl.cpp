#include "job/PeerControl.h"

#include "job/PeerChannel.h"
#include "job/PeerMeeting.h"
#include "transport/Collectives.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

using namespace etc::runtime;

namespace {

/// Last words may take so long.
constexpr auto kGoodbyeTime = std::chrono::seconds(2);
/// How long after an error of the transport whoever caused it may explain it.
constexpr auto kExplanationTime = Milliseconds(500);

class PeerControl final : public Control {
public:
  PeerControl(std::vector<uint32_t> devices, PeerChannels channels)
      : devices(std::move(devices)),
        wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
        channels(std::move(channels)) {}

  ~PeerControl() override {
    if (hasFailed)
      abort({});
    std::lock_guard lock(mutex);
    if (!isAborted)
      sayLastWords([](PeerChannel &channel) { channel.addGoodbye(); });
    ::close(wake);
  }

  Status send(uint32_t peer, Bytes message) override {
    std::lock_guard lock(mutex);
    PeerChannel &channel = channels.at(peer);
    channel.add(
        {reinterpret_cast<const char *>(message.data()), message.size()});
    channel.flush();
    return isAborted ? noted(stopped()) : Status::success();
  }

  Status receive(uint32_t peer, WritableBytes message,
                 const Deadline &deadline) override {
    return noted(waitFor(peer, message, deadline));
  }

  Status check() override {
    move(Milliseconds(0));
    return noted(checkAll());
  }

  std::optional<uint32_t> culprit() const override { return culprit_; }

  void abort(std::string_view cause) override {
    std::lock_guard lock(mutex);
    if (isAborted.exchange(true))
      return;
    if (findCause().empty())
      ownCause = cause;
    const std::string told = findCause();
    sayLastWords([&](PeerChannel &channel) { channel.addGivingUp(told); });
    const uint64_t one = 1;
    (void)!::write(wake, &one, sizeof one);
  }

  std::string cause() override {
    const Deadline deadline(kExplanationTime);
    while (!isExplained() && !deadline.isOver())
      move(deadline.left());
    std::lock_guard lock(mutex);
    return findCause();
  }

private:
  /// The first cause that is known. With the lock held.
  std::string findCause() const {
    if (!ownCause.empty())
      return ownCause;
    for (const auto &[peer, channel] : channels)
      if (!channel.cause().empty())
        return channel.cause();
    return {};
  }

  /// Whether nobody is about to say more: a process that is gone says nothing.
  bool isExplained() {
    std::lock_guard lock(mutex);
    return isAborted ||
           std::any_of(channels.begin(), channels.end(), [](const auto &entry) {
             const auto end = entry.second.end();
             return end == PeerChannel::End::GaveUp ||
                    end == PeerChannel::End::Lost;
           });
  }

  /// Who leaves after an error has given up.
  Status noted(const Status &status) {
    hasFailed = hasFailed || !status.ok();
    return status;
  }

  Status waitFor(uint32_t peer, WritableBytes message,
                 const Deadline &deadline) {
    PeerChannel &channel = channels.at(peer);
    for (bool isFirst = true;; isFirst = false) {
      if (Status s = checkAll(); !s.ok() && (isAborted || !hasNext(channel)))
        return s;
      if (hasNext(channel))
        return take(channel, peer, message);
      culprit_ = peer;
      if (channel.end() == PeerChannel::End::Left)
        return Status(ErrorKind::Peer,
                      text("device ", devices[peer], " has left"));
      if (deadline.isOver())
        return Status(ErrorKind::Peer,
                      text("no answer from device ", devices[peer], " within ",
                           deadline.seconds(), " s"));
      move(isFirst ? Milliseconds(0) : deadline.left());
    }
  }

  static Status stopped() {
    return Status(ErrorKind::Peer, "stopped, since another device failed");
  }

  bool hasNext(PeerChannel &channel) {
    std::lock_guard lock(mutex);
    return !channel.inbox.empty();
  }

  Status take(PeerChannel &channel, uint32_t peer, WritableBytes message) {
    std::lock_guard lock(mutex);
    const std::string next = std::move(channel.inbox.front());
    channel.inbox.pop_front();
    culprit_ = peer;
    if (next.size() != message.size())
      return Status(ErrorKind::Peer, text("device ", devices[peer], " sent ",
                                          next.size(), " bytes of control, ",
                                          message.size(), " were expected"));
    std::copy_n(reinterpret_cast<const std::byte *>(next.data()), next.size(),
                message.data());
    return Status::success();
  }

  /// Whether everybody is there or has left in order.
  Status checkAll() {
    std::lock_guard lock(mutex);
    culprit_.reset();
    if (isAborted)
      return stopped();
    for (const auto &[peer, channel] : channels)
      if (channel.end() == PeerChannel::End::GaveUp)
        return stopped();
    for (const auto &[peer, channel] : channels)
      if (channel.end() == PeerChannel::End::Lost) {
        culprit_ = peer;
        return Status(ErrorKind::Peer,
                      text("lost the connection to device ", devices[peer]));
      }
    return Status::success();
  }

  /// Waits until something can be sent or has come, and does that.
  void move(Milliseconds longest) {
    std::vector<pollfd> entries{{wake, POLLIN, 0}};
    {
      std::lock_guard lock(mutex);
      for (const auto &[peer, channel] : channels)
        if (channel.end() == PeerChannel::End::None)
          entries.push_back(
              {channel.fd(),
               static_cast<short>(POLLIN | (channel.hasUnsent() ? POLLOUT : 0)),
               0});
    }
    if (::poll(entries.data(), entries.size(),
               static_cast<int>(longest.count())) <= 0)
      return;
    std::lock_guard lock(mutex);
    auto entry = entries.begin() + 1;
    for (auto &[peer, channel] : channels) {
      if (entry == entries.end() || entry->fd != channel.fd())
        continue;
      if (entry->revents & POLLOUT)
        channel.flush();
      if (entry->revents & ~POLLOUT)
        channel.receive();
      ++entry;
    }
  }

  /// With the lock held.
  template <typename Add> void sayLastWords(Add add) {
    const Deadline deadline(kGoodbyeTime);
    for (auto &[peer, channel] : channels) {
      add(channel);
      channel.flush();
    }
    for (auto &[peer, channel] : channels)
      while (channel.end() == PeerChannel::End::None && channel.hasUnsent() &&
             !deadline.isOver()) {
        pollfd entry{channel.fd(), POLLOUT, 0};
        ::poll(&entry, 1, static_cast<int>(deadline.left().count()));
        channel.flush();
      }
  }

  const std::vector<uint32_t> devices;
  const int wake; // readable after abort()
  std::mutex mutex;
  PeerChannels channels;
  std::optional<uint32_t> culprit_;
  std::atomic<bool> isAborted{false};
  std::string ownCause; // that abort() was given, before any other
  bool hasFailed = false;
};

} // namespace

Status etc::runtime::giveUp(Control &control, uint32_t device,
                            const Status &error) {
  const bool isOurs = error.kind() != ErrorKind::Peer;
  const std::string cause = isOurs ? "" : control.cause();
  control.abort(cause.empty() ? text("device ", device, ": ", error.message())
                              : cause);
  return cause.empty() ? error : Status(ErrorKind::Peer, cause);
}

Result<std::unique_ptr<Control>>
etc::runtime::connectPeerControl(const PeerControlOptions &options) {
  Result<PeerChannels> channels = meetPeers(options);
  if (!channels)
    return channels.status();
  auto control =
      std::make_unique<PeerControl>(options.devices, std::move(*channels));
  const Member self{options.rank,
                    static_cast<uint32_t>(options.devices.size())};
  if (Status s = barrier(*control, self, options.deadline); !s.ok())
    return s;
  return std::unique_ptr<Control>(std::move(control));
}
