//===- Sources.cpp - From which device a missing fragment comes -----------===//

#include "Sources.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

/// The holder among `candidates` that has sent least, or -1.
int64_t Sources::leastLoaded(const Fragment &fragment,
                             ArrayRef<int64_t> candidates) const {
  int64_t best = -1;
  for (int64_t device : candidates)
    if (fleet.holds(fragment, device))
      if (best < 0 ||
          std::pair(sent[device], device) < std::pair(sent[best], best))
        best = device;
  return best;
}

int64_t Sources::chooseNear(const Fragment &fragment,
                            int64_t destination) const {
  int64_t onNode =
      leastLoaded(fragment, fleet.getHoldersOn(fleet.getNode(destination)));
  return onNode >= 0 ? onNode : leastLoaded(fragment, senders[destination]);
}

SourceList Sources::choose(const Fragment &fragment,
                           ArrayRef<int64_t> destinations) {
  SmallVector<int64_t> inTurn = fleet.findHolders(fragment);
  SourceList sources;
  llvm::sort(inTurn, [&](int64_t a, int64_t b) {
    return std::pair(sent[a], a) < std::pair(sent[b], b);
  });
  size_t turn = 0;
  for (int64_t destination : destinations) {
    int64_t source = chooseNear(fragment, destination);
    if (source < 0)
      source = inTurn[turn++ % inTurn.size()];
    sources.push_back({source});
    sent[source] += fragment.bytes;
    if (!llvm::is_contained(senders[destination], source))
      senders[destination].push_back(source);
  }
  return sources;
}
