//===- HopChunks.h - What chunks do at one hop ----------------------------===//
//
// An item is cut into hundreds of chunks, again and again: what each does to
// memory and ports follows from a few numbers.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_HOPCHUNKS_H
#define ETC_LIB_TRANSFORMS_HOPCHUNKS_H

#include "ChunksAlike.h"
#include "PortLoads.h"

#include "etc/Optimize/Rounds/Budget.h"

namespace etc {

/// How often a type of an item is sent on, at most.
unsigned findLastHop(llvm::ArrayRef<ItemFlow> flows, unsigned type);

/// The most that each program sends and receives of a type of an item at any
/// hop, in bytes.
class HopMost {
public:
  HopMost(const ProgramFlows &flows, unsigned item, unsigned type);

  unsigned getLastHop() const { return lastHop; }
  /// So many that each is at most one of `parts` of what a round of each class
  /// carries.
  int64_t countChunks(llvm::ArrayRef<rounds::ClassMemory> classes,
                      int64_t parts) const;

private:
  struct Most {
    unsigned program;
    int64_t sent, received;
  };
  llvm::SmallVector<Most, 4> most;
  unsigned lastHop;
};

/// The chunks of what moves of an item in one type at one hop.
class HopChunks {
public:
  /// As many chunks as the portion, which is any of them, says. Without
  /// `ports`, units occupy none. Refers to `flows` and `ports`.
  HopChunks(const ProgramFlows &flows, unsigned item, const Portion &portion,
            const PortLoads *ports);

  /// A unit that waits for no other one. Those that do the same share lists.
  rounds::Unit makeUnit(int64_t chunk);

private:
  using Touches = rounds::SharedList<rounds::Touch>;
  using Loads = rounds::SharedList<rounds::Load>;

  Portion at(int64_t chunk) const;
  Touches findTouches(int64_t chunk) const;

  const ProgramFlows &flows;
  const unsigned item;
  const Portion portion;
  const PortLoads *const ports;
  ChunkSizes sizes;
  /// [flows][axes]: elements of what is sent and received that are at one
  /// position of an axis along which pieces are cut.
  struct Elements {
    int64_t sent = 0, received = 0;
  };
  std::vector<Elements> elements;
  /// Memory is allocated and released with the first and the last chunk.
  Touches first, last;
  /// Of the others of one size, and of all.
  struct OfSize {
    std::optional<Touches> inner;
    std::optional<Loads> loads;
  };
  llvm::SmallVector<OfSize, 2> ofSizes;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_HOPCHUNKS_H
