// A process of a job's store as its hub.

#include "job/store/StoreNode.h"

#include <algorithm>

using namespace etc::runtime;

/// Between two attempts to reach a member that is missing.
constexpr Milliseconds kProbe{500};

void StoreNode::answer(uint64_t member, const StoreMessage &message) {
  if (member == self.number) {
    (void)client_.handle(message);
    return;
  }
  if (const auto it = peers.find(member); it != peers.end() && it->second.link)
    it->second.link->send(message);
}

void StoreNode::stepHub(Milliseconds time) {
  std::vector<uint64_t> numbers;
  for (const auto &[number, peer] : peers)
    numbers.push_back(number);
  for (uint64_t number : numbers) {
    Peer &peer = peers.at(number);
    if (peer.link)
      hear(number, peer, time);
    else
      probe(number, peer, time);
  }
  if (better)
    return follow(std::move(better), betterMembers);
  if (betterHub)
    return searchFor({*std::exchange(betterHub, std::nullopt)});
  for (uint64_t number : numbers)
    if (peers.at(number).isGone)
      remove(number);
  judge();
  if (std::exchange(hasChanged, false))
    spread();
}

void StoreNode::hear(uint64_t number, Peer &peer, Milliseconds time) {
  peer.link->receive(time);
  while (const std::optional<StoreMessage> message = peer.link->next()) {
    peer.isReady |= message->kind == StoreKind::Ready;
    peer.isGone |= message->kind == StoreKind::Leave;
    table->handle(number, *message);
  }
  if (!peer.link->isOver() && peer.link->silence() <= silence)
    return;
  peer.missing = peer.link->silence();
  peer.untilProbe = {};
  peer.isReady = false;
  peer.link.reset();
  table->leave(number);
}

void StoreNode::probe(uint64_t number, Peer &peer, Milliseconds time) {
  peer.missing += time;
  peer.untilProbe -= std::min(time, peer.untilProbe);
  if (!peer.probe) {
    if (peer.untilProbe.count() > 0)
      return;
    peer.probe =
        std::make_unique<StoreLink>(members_.find(number)->address, secret);
    peer.probe->send(hello());
  }
  peer.probe->receive(time);
  if (const std::optional<StoreMessage> message = peer.probe->next();
      message && message->kind == StoreKind::Members)
    return hearProbe(peer, *message);
  peer.isGone |= peer.probe->state() == StoreLink::State::Refused;
  if (peer.probe->isOver() || peer.probe->silence() > silence) {
    peer.probe.reset();
    peer.untilProbe = kProbe;
  }
}

/// A member that is missing may be with another hub, or be one.
void StoreNode::hearProbe(Peer &peer, const StoreMessage &members) {
  const bool isTaken = members.number != 0;
  const bool isLater = members.flag != 0 && members.term > term;
  const JobProcess *other = members.members.findHub();
  if (isTaken && (!wasOpen || isLater)) {
    better = std::move(peer.probe);
    betterMembers = members;
  } else if (!isTaken && isLater && other && other->process != self.process) {
    betterHub = *other;
  }
  peer.probe.reset();
  peer.untilProbe = kProbe;
}

bool StoreNode::hearsMost(Milliseconds since) const {
  return members_.areMost([&](const JobProcess &member) {
    const auto it = peers.find(member.number);
    return it == peers.end() || (it->second.link && it->second.isReady &&
                                 it->second.link->silence() < since);
  });
}

/// Whether this hub speaks for all; who is given up. Of those that are cut off
/// at one time, one is silent for too long before the others are: it is given
/// up only by a majority that was heard after that.
void StoreNode::judge() {
  std::vector<uint64_t> lost;
  bool isSure = true;
  for (const auto &[number, peer] : peers) {
    if (!peer.link && peer.missing > silence &&
        hearsMost(peer.missing - silence))
      lost.push_back(number);
    else if (!peer.link || !peer.isReady || peer.link->silence() > silence / 2)
      isSure = false;
  }
  for (uint64_t number : lost)
    remove(number);
  hasChanged |= isSure != isOpen_;
  isOpen_ = isSure;
  wasOpen |= isSure;
  table->setOpen(isSure);
}

void StoreNode::remove(uint64_t number) {
  table->leave(number);
  peers.erase(number);
  members_.remove(number);
  hasChanged = true;
}

void StoreNode::spread() {
  for (auto &[number, peer] : peers)
    if (peer.link)
      peer.link->send(describe(number));
}
