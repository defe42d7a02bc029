//===- Sources.h - From which device a missing fragment comes -------------===//

#ifndef ETC_LIB_TRANSFORMS_SOURCES_H
#define ETC_LIB_TRANSFORMS_SOURCES_H

#include "etc/Analysis/Devices.h"
#include "etc/Analysis/Needs.h"

namespace etc {

/// Who sends a fragment to one destination, and how often it was received
/// before that.
struct Source {
  int64_t device = -1;
  unsigned hop = 0;
};

/// Chooses sources, fragment by fragment: on the same node first, then a device
/// that sends to the destination anyway, then the holders in turn, those that
/// have sent least first. Taking turns keeps equal devices equal, so that they
/// stay one class.
class Sources {
public:
  Sources(const Devices &devices, const Holdings &prev);

  /// Who sends `fragment` to each of `destinations`. Someone alive has it.
  llvm::SmallVector<Source> choose(const Fragment &fragment,
                                   llvm::ArrayRef<int64_t> destinations);

  /// The devices alive that have it.
  llvm::SmallVector<int64_t> findHolders(const Fragment &fragment) const;

private:
  bool holds(const Fragment &fragment, int64_t device) const {
    int64_t role = devices.getPrevRole(device);
    return fragment.isHeldBy(role, prev.getPool(role));
  }
  int64_t leastLoaded(const Fragment &fragment,
                      llvm::ArrayRef<int64_t> candidates) const;
  int64_t chooseNear(const Fragment &fragment, int64_t destination) const;

  const Devices &devices;
  const Holdings &prev;
  llvm::SmallVector<llvm::SmallVector<int64_t>> byRole, byPool, byNode;
  llvm::SmallVector<llvm::SmallVector<int64_t>>
      senders;                     ///< [destination] so far
  llvm::SmallVector<int64_t> sent; ///< [device] bytes so far
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_SOURCES_H
