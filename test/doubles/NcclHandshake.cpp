#include "NcclHandshake.h"

using namespace etc::test;

/// The ends that this rank makes with a peer of the present step.
unsigned Handshake::endsAt(int peer) const {
  unsigned ends = 0;
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

std::optional<std::string> Handshake::advance(Bootstrap &bootstrap) {
  while (!isDone()) {
    const std::set<int> peers = awaited();
    for (int peer : peers)
      if (!hasSent)
        bootstrap[{stage, distance, rank, peer}].push_back(endsAt(peer));
    hasSent = true;
    for (int peer : peers)
      if (bootstrap[{stage, distance, peer, rank}].empty())
        return std::nullopt;
    for (int peer : peers) {
      std::deque<unsigned> &inbox = bootstrap[{stage, distance, peer, rank}];
      const unsigned theirs = inbox.front(), mine = endsAt(peer);
      inbox.pop_front();
      const unsigned mirrored =
          (mine & Send ? Receive : 0u) | (mine & Receive ? unsigned(Send) : 0u);
      if (stage == 0 && theirs != mirrored)
        return "ranks " + std::to_string(rank) + " and " +
               std::to_string(peer) +
               " connect in one step, but not the same directions";
    }
    hasSent = false;
    if (++distance == size)
      ++stage, distance = 1;
  }
  return std::nullopt;
}
