//===- DeviceClasses.h - Devices that do the same -------------------------===//

#ifndef ETC_LIB_TRANSFORMS_DEVICECLASSES_H
#define ETC_LIB_TRANSFORMS_DEVICECLASSES_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <map>

namespace etc {

/// One fragment that a device exchanges with a peer.
struct Exchange {
  bool receives;
  unsigned fragment;
  unsigned hop;
  auto operator<=>(const Exchange &) const = default;
};

/// What a device does, apart from whom it does it with: its roles (-1 where
/// there is none), and the exchanges with each of its peers. Two devices of
/// equal behaviour are of one class.
struct Behaviour {
  int64_t curr = -1, prev = -1;
  llvm::SmallVector<llvm::SmallVector<Exchange>> peers;
  auto operator<=>(const Behaviour &other) const {
    return std::tie(curr, prev, peers) <=>
           std::tie(other.curr, other.prev, other.peers);
  }
  bool operator==(const Behaviour &) const = default;
};

/// The devices of a class, ascending, and for each peer of the behaviour the
/// parallel list of devices.
struct ClassMembers {
  llvm::SmallVector<int64_t> devices;
  llvm::SmallVector<llvm::SmallVector<int64_t>> peers;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_DEVICECLASSES_H
