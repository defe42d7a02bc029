//===- Relays.cpp - Devices that forward what they received ---------------===//

#include "Relays.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace etc;
using llvm::ArrayRef;
using llvm::MutableArrayRef;
using llvm::SmallVector;

/// The end of a chain is so many rounds later than its beginning, at most.
static constexpr unsigned mostHops = 8;

void Relays::add(Candidates &candidates, Candidate candidate) const {
  candidates.onNode[fleet.getNode(candidate.device)].push_back(
      candidates.list.size());
  candidates.list.push_back(candidate);
}

/// Those that have not sent the fragment often, of them the ones that have sent
/// least of all.
bool Relays::isBetter(const Candidate &a, const Candidate &b,
                      bool isFar) const {
  auto rank = [&](const Candidate &candidate) {
    const unsigned beyond =
        candidate.given < rule.fanOut ? 0 : candidate.given - rule.fanOut + 1;
    return std::tuple(beyond, isFar && rule.entersEarly ? candidate.hop : 0,
                      sent[candidate.device], candidate.hop, candidate.device);
  };
  return rank(a) < rank(b);
}

/// On the destination's node first, so that a fragment comes to a node once.
Relays::Candidate &Relays::findNearest(Candidates &candidates,
                                       int64_t destination) const {
  MutableArrayRef<Candidate> list = candidates.list;
  auto near = candidates.onNode.find(fleet.getNode(destination));
  if (near == candidates.onNode.end())
    return *llvm::min_element(list,
                              [&](const Candidate &a, const Candidate &b) {
                                return isBetter(a, b, /*isFar=*/true);
                              });
  return list[*llvm::min_element(near->second, [&](unsigned a, unsigned b) {
    return isBetter(list[a], list[b], /*isFar=*/false);
  })];
}

/// Those that have much to send themselves come last, where none relies on
/// them.
SourceList Relays::choose(const Fragment &fragment,
                          ArrayRef<int64_t> destinations,
                          ArrayRef<int64_t> holders) {
  Candidates candidates;
  for (int64_t holder : holders)
    add(candidates, {holder, /*hop=*/0});
  auto order = llvm::to_vector(llvm::seq<size_t>(destinations.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(owed[destinations[a]], destinations[a]) <
           std::pair(owed[destinations[b]], destinations[b]);
  });
  SourceList sources(destinations.size());
  for (size_t place : order) {
    const int64_t destination = destinations[place];
    Candidate &nearest = findNearest(candidates, destination);
    sources[place] = {nearest.device, nearest.hop};
    sent[nearest.device] += fragment.bytes;
    ++nearest.given;
    if (const unsigned hop = nearest.hop + 1; hop <= mostHops)
      add(candidates, {destination, hop});
  }
  return sources;
}
