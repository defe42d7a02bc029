#include "job/PeerControl.h"

#include "core/plan/SystemError.h"
#include "core/transport/Collectives.h"
#include "job/Excluded.h"
#include "job/PeerMeeting.h"
#include "job/PeerTraffic.h"

#include <algorithm>
#include <sys/eventfd.h>

using namespace etc::runtime;

namespace {

/// How long after an error of the transport whoever caused it may explain it.
constexpr auto kExplanationTime = Milliseconds(500);
/// How long rank 0, once told, may take to name the cause.
constexpr auto kSettlingTime = Milliseconds(2000);

class PeerControl final : public Control {
public:
  PeerControl(const PeerControlOptions &options, PeerChannels channels,
              Socket wake)
      : devices(options.devices),
        traffic(options, std::move(channels), std::move(wake)) {}

  ~PeerControl() override {
    if (hasFailed)
      abort({});
  }

  Status send(uint32_t peer, Bytes message) override {
    return noted(
        traffic.send(peer, {reinterpret_cast<const char *>(message.data()),
                            message.size()}));
  }

  Status receive(uint32_t peer, WritableBytes message,
                 const Deadline &deadline) override {
    return noted(waitFor(peer, message, deadline));
  }

  Status decide(const std::function<Status()> &note) override {
    Status status = traffic.beginAwaiting();
    if (status.ok()) {
      status = note();
      if (status.ok())
        traffic.decide();
      traffic.endAwaiting();
    }
    return noted(status);
  }

  Status awaitDecision(const Deadline &deadline) override {
    if (Status s = traffic.beginAwaiting(); !s.ok())
      return noted(s);
    (void)traffic.send(0, {}); // where that fails, rank 0 is gone
    const Status status = waitForDecision(deadline);
    traffic.endAwaiting();
    return noted(status);
  }

  Status check() override {
    traffic.move(Milliseconds(0));
    return noted(checkAll());
  }

  std::optional<uint32_t> culprit() const override { return culprit_; }

  void abort(std::string_view cause) override { traffic.giveUp(cause); }

  std::string cause() override {
    moveUntil(kExplanationTime, [&] { return traffic.isExplained(); });
    if (traffic.hasGivenUp()) {
      if (!settling)
        settling.emplace(kSettlingTime); // once, however often it is asked for
      moveUntil(*settling, [&] { return traffic.isSettled(); });
    }
    return traffic.failure().value_or(Failure{}).cause;
  }

  bool isExcluded() override { return traffic.isExcluded(); }

  void onStop(const std::function<void()> &callback) override {
    traffic.onStop(callback);
  }

private:
  template <typename Done> void moveUntil(const Deadline &deadline, Done done) {
    while (!done() && !deadline.isOver())
      traffic.move(deadline.left());
  }

  /// Who leaves after an error has given up.
  Status noted(const Status &status) {
    hasFailed = hasFailed || !status.ok();
    return status;
  }

  Status waitFor(uint32_t peer, WritableBytes message,
                 const Deadline &deadline) {
    for (bool isFirst = true;; isFirst = false) {
      // What was said before the end counts, unless this process gave up.
      Status status = checkAll();
      const bool hasNext = traffic.hasNext(peer);
      if (!status.ok() && (traffic.hasGivenUp() || !hasNext))
        return status;
      if (hasNext)
        return take(peer, message);
      culprit_ = peer;
      if (traffic.endOf(peer) == PeerChannel::End::Left)
        return Status(ErrorKind::Peer,
                      text("device ", devices[peer], " has left"));
      if (deadline.isOver())
        return late(peer, deadline);
      traffic.move(isFirst ? Milliseconds(0) : deadline.left());
    }
  }

  Status waitForDecision(const Deadline &deadline) {
    while (!traffic.isDecided()) {
      if (traffic.hasGivenUp() || traffic.endOf(0) != PeerChannel::End::None)
        return undecided();
      if (deadline.isOver())
        return late(0, deadline);
      traffic.move(deadline.left());
    }
    return Status::success();
  }

  /// Rank 0 is gone. Who has heard its decision has passed it on.
  Status undecided() {
    const Deadline deadline(kExplanationTime);
    while (!traffic.isDecided() && !traffic.hasGivenUp() &&
           traffic.endOf(0) != PeerChannel::End::GaveUp && !deadline.isOver())
      traffic.move(deadline.left());
    if (traffic.isDecided())
      return Status::success();
    const Status status = checkAll();
    return status.ok() ? Status(ErrorKind::Peer,
                                text("device ", devices[0], " has left"))
                       : status;
  }

  Status late(uint32_t peer, const Deadline &deadline) {
    culprit_ = peer; // which may itself wait for another one
    return Status(ErrorKind::Peer, text("no answer from device ", devices[peer],
                                        " within ", deadline.seconds(), " s"));
  }

  Status take(uint32_t peer, WritableBytes message) {
    const std::string next = traffic.takeNext(peer);
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
    Status status = traffic.check();
    culprit_ = traffic.findLost();
    return status;
  }

  const std::vector<uint32_t> devices;
  std::optional<uint32_t> culprit_;
  bool hasFailed = false;
  std::optional<Deadline> settling; // until when rank 0 may name the cause
  PeerTraffic traffic;              // its thread ends first
};

} // namespace

Status etc::runtime::giveUp(Control &control, uint32_t device,
                            const Status &error) {
  const bool isOurs =
      error.kind() != ErrorKind::Peer && error.kind() != ErrorKind::Excluded;
  const std::string who = text("device ", device, ": ");
  const std::string mine = error.message().starts_with(who)
                               ? error.message()
                               : who + error.message();
  const std::string known = isOurs ? "" : control.cause();
  control.abort(known.empty() ? mine : known);
  const std::string cause = control.cause(); // that all name
  if (isOurs)
    return error;
  if (control.isExcluded())
    return excluded(cause);
  return cause.empty() ? error : Status(ErrorKind::Peer, cause);
}

Result<std::unique_ptr<Control>>
etc::runtime::connectPeerControl(const PeerControlOptions &options) {
  // Without it, who waits would not hear that this process gave up.
  Socket wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake.isOpen())
    return Status(ErrorKind::Usage,
                  text("cannot watch for the end of a change: ",
                       plan::describeSystemError(errno)));
  Result<PeerChannels> channels = meetPeers(options);
  if (!channels)
    return channels.status();
  auto control = std::make_unique<PeerControl>(options, std::move(*channels),
                                               std::move(wake));
  const RankAndCount self{options.rank,
                          static_cast<uint32_t>(options.devices.size())};
  if (Status s = barrier(*control, self, options.deadline); !s.ok())
    return giveUp(*control, options.devices[options.rank], s);
  return std::unique_ptr<Control>(std::move(control));
}
