#include "job/PeerTraffic.h"

#include "job/Excluded.h"
#include "job/ListeningTime.h"

#include <algorithm>
#include <poll.h>
#include <unistd.h>

using namespace etc::runtime;
using Clock = std::chrono::steady_clock;
using End = PeerChannel::End;

/// Last words may take so long.
constexpr auto kGoodbyeTime = std::chrono::seconds(2);

PeerTraffic::PeerTraffic(const PeerControlOptions &given,
                         PeerChannels connected, Socket event)
    : options(given), wake(std::move(event)), channels(std::move(connected)) {
  if (options.beat.count() > 0)
    ticker.emplace(options.beat,
                   [this](Milliseconds elapsed) { tick(elapsed); });
}

PeerTraffic::~PeerTraffic() {
  ticker.reset();
  std::lock_guard lock(mutex);
  if (!isGivenUp)
    sayLastWords([](PeerChannel &channel) { channel.addGoodbye(); });
}

Status PeerTraffic::send(uint32_t peer, std::string_view message) {
  std::lock_guard lock(mutex);
  PeerChannel &channel = channels.at(peer);
  channel.add(message);
  channel.flush();
  return isGivenUp ? stopped() : Status::success();
}

bool PeerTraffic::hasNext(uint32_t peer) {
  std::lock_guard lock(mutex);
  return !channels.at(peer).inbox.empty();
}

std::string PeerTraffic::takeNext(uint32_t peer) {
  std::lock_guard lock(mutex);
  std::deque<std::string> &inbox = channels.at(peer).inbox;
  std::string next = std::move(inbox.front());
  inbox.pop_front();
  return next;
}

End PeerTraffic::endOf(uint32_t peer) {
  std::lock_guard lock(mutex);
  return channels.at(peer).end();
}

void PeerTraffic::move(Milliseconds longest) {
  std::vector<pollfd> entries{{wake.fd(), POLLIN, 0}};
  {
    std::lock_guard lock(mutex);
    for (const auto &[peer, channel] : channels)
      if (channel.end() == End::None)
        entries.push_back(
            {channel.fd(),
             static_cast<short>(POLLIN | (channel.hasUnsent() ? POLLOUT : 0)),
             0});
  }
  if (::poll(entries.data(), entries.size(),
             static_cast<int>(longest.count())) <= 0)
    return;
  uint64_t count;
  if (entries.front().revents)
    (void)!::read(wake.fd(), &count, sizeof count);
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
  passOnDecision();
}

void PeerTraffic::wakeUp() const {
  const uint64_t one = 1;
  (void)!::write(wake.fd(), &one, sizeof one);
}

Status PeerTraffic::check() {
  std::lock_guard lock(mutex);
  if (isGivenUp || findFailure())
    return stopped();
  if (const auto peer = findLostPeer())
    return Status(ErrorKind::Peer, lost(*peer));
  return Status::success();
}

std::optional<uint32_t> PeerTraffic::findLost() {
  std::lock_guard lock(mutex);
  return isGivenUp || findFailure() ? std::nullopt : findLostPeer();
}

Status PeerTraffic::stopped() const {
  return knowsExclusion()
             ? excluded()
             : Status(ErrorKind::Peer, "stopped, since another device failed");
}

std::string PeerTraffic::lost(uint32_t peer) const {
  return text("lost the connection to device ", options.devices[peer]);
}

/// Rank 0's word is that of all: it talks to all, so all have heard it.
const Failure *PeerTraffic::findFailure() const {
  const Failure *silent = own ? &*own : nullptr;
  const Failure *said = silent && !own->cause.empty() ? silent : nullptr;
  for (const auto &[peer, channel] : channels) {
    if (channel.end() != End::GaveUp)
      continue;
    if (channel.failure().cause.empty())
      silent = &channel.failure();
    else if (peer == 0 || !said)
      said = &channel.failure();
  }
  return said ? said : silent;
}

std::optional<uint32_t> PeerTraffic::findLostPeer() const {
  for (const auto &[peer, channel] : channels) // rank 0 comes first
    if (channel.end() == End::Lost)
      return peer;
  return std::nullopt;
}

bool PeerTraffic::knowsExclusion() const {
  return std::any_of(channels.begin(), channels.end(), [&](const auto &entry) {
    return entry.second.failure().excluded == options.rank;
  });
}

std::optional<Failure> PeerTraffic::failure() {
  std::lock_guard lock(mutex);
  const Failure *first = findFailure();
  const std::optional<uint32_t> gone = findLostPeer();
  if (gone && (*gone == 0 || !first))
    return Failure{lost(*gone), {}};
  return first ? std::optional(*first) : std::nullopt;
}

bool PeerTraffic::isExcluded() {
  std::lock_guard lock(mutex);
  return knowsExclusion();
}

bool PeerTraffic::isExplained() {
  std::lock_guard lock(mutex);
  return isGivenUp || findFailure() || findLostPeer();
}

bool PeerTraffic::isSettled() {
  std::lock_guard lock(mutex);
  const auto isOver = [&](const auto &entry) {
    return entry.second.end() != End::None ||
           (own && own->excluded == entry.first);
  };
  return options.rank == 0
             ? std::all_of(channels.begin(), channels.end(), isOver)
             : isOver(*channels.find(0));
}

void PeerTraffic::decide() {
  std::lock_guard lock(mutex);
  isDecided_ = true;
  for (auto &[peer, channel] : channels) {
    channel.addDecision();
    channel.flush();
  }
}

bool PeerTraffic::isDecided() {
  std::lock_guard lock(mutex);
  return isDecided_;
}

/// Its sender may die before it has told all.
void PeerTraffic::passOnDecision() {
  const bool isNew =
      !isDecided_ &&
      std::any_of(channels.begin(), channels.end(),
                  [](const auto &entry) { return entry.second.isDecided(); });
  if (!isNew)
    return;
  isDecided_ = true;
  for (auto &[peer, channel] : channels) {
    channel.addDecision();
    channel.flush();
  }
}

Status PeerTraffic::beginAwaiting() {
  std::lock_guard lock(mutex);
  if (isGivenUp || findFailure())
    return stopped();
  isAwaiting = true;
  return Status::success();
}

void PeerTraffic::endAwaiting() {
  std::lock_guard lock(mutex);
  isAwaiting = false;
}

void PeerTraffic::giveUp(std::string_view cause) {
  std::lock_guard lock(mutex);
  if (!isAwaiting)
    endWith({std::string(cause), {}});
}

void PeerTraffic::endWith(const Failure &failure) {
  if (isGivenUp.exchange(true))
    return;
  const Failure *known = findFailure();
  own = known && !known->cause.empty() ? *known : failure;
  sayLastWords([&](PeerChannel &channel) { channel.addGivingUp(*own); });
  wakeUp();
}

template <typename Add> void PeerTraffic::sayLastWords(Add add) {
  const auto deadline = Clock::now() + kGoodbyeTime;
  for (auto &[peer, channel] : channels) {
    add(channel);
    channel.flush();
  }
  for (auto &[peer, channel] : channels)
    while (channel.hasUnsent() && channel.silence() < options.silence &&
           Clock::now() < deadline) {
      pollfd entry{channel.fd(), POLLOUT, 0};
      ::poll(&entry, 1, 10);
      channel.flush();
    }
}

void PeerTraffic::onStop(std::function<void()> call) {
  std::lock_guard lock(calling);
  callback = std::move(call);
}

void PeerTraffic::tick(Milliseconds elapsed) {
  listen(elapsed);
  if (!isGivenUp)
    return;
  std::lock_guard lock(calling);
  if (auto call = std::exchange(callback, {}))
    call();
}

void PeerTraffic::listen(Milliseconds elapsed) {
  std::lock_guard lock(mutex);
  bool hasCome = false;
  for (auto &[peer, channel] : channels)
    while (channel.receive())
      hasCome = true;
  passOnDecision();
  if (!isGivenUp && !isDecided_)
    judge(listened(elapsed, options.beat));
  for (auto &[peer, channel] : channels) {
    if (!isGivenUp && !channel.hasUnsent())
      channel.addBeat();
    channel.flush();
  }
  if (hasCome)
    wakeUp();
}

void PeerTraffic::judge(Milliseconds time) {
  for (auto &[peer, channel] : channels)
    if (channel.end() == End::None)
      channel.pass(time);
  for (const auto &[peer, channel] : channels) {
    if (isAwaiting && peer != 0)
      continue;
    if (channel.end() == End::None && channel.silence() > options.silence)
      return isAwaiting = false,
             endWith({text("device ", options.devices[peer],
                           ": no sign of life for ",
                           options.silence.count() / 1000.0, " s"),
                      peer});
    if (isAwaiting)
      continue; // whoever waits asks who else has the decision
    if (channel.end() == End::GaveUp)
      return endWith(channel.failure());
    if (channel.end() == End::Lost)
      return endWith({lost(peer), {}}); // it may live, and learn the same
  }
}
