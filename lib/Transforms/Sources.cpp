//===- Sources.cpp - From which device a missing fragment comes -----------===//

#include "Sources.h"

using namespace etc;
using namespace mlir;

Sources::Sources(const Devices &devices, const Holdings &prev)
    : devices(devices), prev(prev), byRole(prev.size()),
      byPool(prev.getPools()), senders(devices.size()), sent(devices.size()) {
  for (int64_t device = 0; device < devices.size(); ++device) {
    byNode.resize(devices.getNode(device) + 1);
    if (int64_t role = devices.getPrevRole(device); role >= 0) {
      byRole[role].push_back(device);
      byPool[prev.getPool(role)].push_back(device);
      byNode[devices.getNode(device)].push_back(device);
    }
  }
}

/// The holder among `candidates` that has sent least, or -1.
int64_t Sources::leastLoaded(const Fragment &fragment,
                             ArrayRef<int64_t> candidates) const {
  int64_t best = -1;
  for (int64_t device : candidates)
    if (holds(fragment, device))
      if (best < 0 ||
          std::pair(sent[device], device) < std::pair(sent[best], best))
        best = device;
  return best;
}

int64_t Sources::chooseNear(const Fragment &fragment,
                            int64_t destination) const {
  int64_t onNode = leastLoaded(fragment, byNode[devices.getNode(destination)]);
  return onNode >= 0 ? onNode : leastLoaded(fragment, senders[destination]);
}

SmallVector<int64_t> Sources::findHolders(const Fragment &fragment) const {
  SmallVector<int64_t> holders;
  for (Holder holder : fragment.holders)
    llvm::append_range(holders,
                       (holder.isPool ? byPool : byRole)[holder.number]);
  return holders;
}

SmallVector<Source> Sources::choose(const Fragment &fragment,
                                    ArrayRef<int64_t> destinations) {
  SmallVector<int64_t> inTurn = findHolders(fragment);
  SmallVector<Source> sources;
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
