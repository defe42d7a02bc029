#include "NcclHandshake.h"

#include <algorithm>

using namespace etc::test;

/// The ends that this rank makes with a peer of the present step.
uint8_t Handshake::endsAt(int peer) const {
  uint8_t ends = 0;
  if (peer == ahead() && targets.count(peer))
    ends |= Send;
  if (peer == behind() && sources.count(peer))
    ends |= Receive;
  return ends;
}

std::set<int> Handshake::awaited() const {
  std::set<int> peers;
  for (int peer : {ahead(), behind()})
    if (!isDone() && endsAt(peer) != 0)
      peers.insert(peer);
  return peers;
}

bool Handshake::advance(Bootstrap &bootstrap, std::string &misuse) {
  bool hasMoved = false;
  while (!isDone()) {
    const std::set<int> peers = awaited();
    for (int peer : peers)
      if (!hasSent)
        bootstrap.send(key(rank, peer), endsAt(peer)), hasMoved = true;
    hasSent = true;
    for (int peer : peers)
      if (!bootstrap.has(key(peer, rank)))
        return hasMoved;
    for (int peer : peers) {
      const uint8_t theirs = bootstrap.receive(key(peer, rank));
      const uint8_t mine = endsAt(peer);
      const uint8_t mirrored = static_cast<uint8_t>(
          (mine & Send ? Receive : 0) | (mine & Receive ? Send : 0));
      if (stage == 0 && theirs != mirrored) {
        misuse = "ranks " + std::to_string(std::min(rank, peer)) + " and " +
                 std::to_string(std::max(rank, peer)) +
                 " connect in one step, but not the same directions";
        return true;
      }
    }
    hasSent = false;
    hasMoved = true;
    if (++distance >= size)
      ++stage, distance = 1;
  }
  return hasMoved;
}
