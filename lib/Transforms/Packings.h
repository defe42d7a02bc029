//===- Packings.h - What devices pack and unpack --------------------------===//

#ifndef ETC_LIB_TRANSFORMS_PACKINGS_H
#define ETC_LIB_TRANSFORMS_PACKINGS_H

#include "etc/Analysis/ProgramFlows.h"

#include "llvm/ADT/DenseMap.h"

namespace etc {

/// Which transfers go through the slabs of their devices: what is small, and
/// what is not one interval of the device's memory. Chunks are judged one by
/// one, though what follows each other in one round is written as one piece,
/// which may be large enough to go directly: estimates are on the high side.
class Packings {
public:
  Packings(const ProgramFlows &flows, llvm::ArrayRef<DeviceProgram> programs,
           const BothHoldings &holdings);

  /// Whether a device packs what it sends of a portion, or unpacks what it
  /// receives.
  bool isPacked(const Step &step, const Portion &portion) const;

  /// Whether a transfer is packed in one type, into however many chunks it is
  /// cut, if none is of more than `most` bytes.
  bool isPackedAnyway(const Step &step, unsigned type, int64_t most) const;
  /// Whether devices have the pieces of two transfers, which are of the same
  /// shape, alike.
  bool areAlike(const Step &a, const Step &b) const;

private:
  const ProgramFlows &flows;
  /// Of transfers: the piece of the device's memory around theirs.
  llvm::DenseMap<const Step *, const Piece *> shardOf;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_PACKINGS_H
