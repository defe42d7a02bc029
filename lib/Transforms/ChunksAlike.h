//===- ChunksAlike.h - Chunks of the same size ----------------------------===//
//
// An item is cut into hundreds of chunks of two or three sizes: what a chunk
// takes is found out once for each.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_CHUNKSALIKE_H
#define ETC_LIB_TRANSFORMS_CHUNKSALIKE_H

#include "ItemKinds.h"

namespace etc {

/// What a unit of the problem of rounds stands for.
struct Chunk {
  unsigned item;
  Portion portion;
};

/// The sizes of all chunks of what moves of an item in one type at one hop.
class ChunkSizes {
public:
  /// As for any chunk of the portion's.
  ChunkSizes(llvm::ArrayRef<ItemFlow> flows, const Portion &portion);

  /// Chunks with one number have equally many elements of every transfer.
  unsigned number(int64_t chunk);
  /// Of the axes along which the pieces are cut, each once.
  llvm::ArrayRef<int64_t> getLengths() const { return lengths; }
  /// How many positions of each length are in a chunk.
  llvm::SmallVector<int64_t, 2> getSizes(int64_t chunk) const;
  /// The length along which a step's piece is cut, by its place among all;
  /// nothing if the portion has none of it.
  std::optional<unsigned> findAxis(const Step &step,
                                   const Portion &portion) const;

private:
  const int64_t chunks;
  llvm::SmallVector<int64_t, 2> lengths;
  /// [numbers][lengths]
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>, 2> known;
};

/// For every unit, the first one whose transfers are the same: to the first
/// item of the kind, a chunk of the same size. The units of an item follow each
/// other, and so do the chunks of a portion.
std::vector<unsigned> findFirstsAlike(const ProgramFlows &flows,
                                      llvm::ArrayRef<Chunk> chunks,
                                      const ItemKinds &kinds);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_CHUNKSALIKE_H
