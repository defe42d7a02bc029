//===- ReplayTables.h - What the replays of a plan share --------*- C++ -*-===//

#ifndef ETC_LIB_VERIFY_REPLAYTABLES_H
#define ETC_LIB_VERIFY_REPLAYTABLES_H

#include "dialect/Workloads.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>

namespace etc {

/// What ids stand for beside types, each list once: both ends of a message name
/// the same ones, and so do devices that do the same.
class ReadIds {
public:
  struct Read {
    llvm::SmallBitVector types;
    llvm::SmallVector<Piece, 1> pieces; ///< mostly one
  };
  explicit ReadIds(const TensorTable &table) : table(table) {}

  /// Lives as long as this.
  const Read &read(mlir::ArrayAttr ids, mlir::ArrayAttr names) {
    std::unique_ptr<Read> &entry = known[{ids, names}];
    if (!entry) {
      llvm::SmallBitVector types = table.getTypes(names);
      llvm::SmallVector<Piece> pieces = table.expand(ids, types);
      entry = std::make_unique<Read>(
          Read{std::move(types), {pieces.begin(), pieces.end()}});
    }
    return *entry;
  }

private:
  const TensorTable &table;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>,
                 std::unique_ptr<Read>>
      known;
};

/// Numbers that a program gives to tensors of layers and experts, type by type:
/// a table of all there are, in place of a map for each program.
class ShardNumbers {
public:
  explicit ShardNumbers(const TensorTable &table);

  /// Forgets all numbers.
  void clear() { ++generation; }
  /// Null where there is none.
  const uint32_t *find(unsigned type, const Piece &piece) const {
    const Entry &entry = entries[placeOf(type, piece)];
    return entry.generation == generation ? &entry.number : nullptr;
  }
  /// The number, which is `next` if there was none.
  uint32_t add(unsigned type, const Piece &piece, uint32_t next) {
    Entry &entry = entries[placeOf(type, piece)];
    if (entry.generation != generation)
      entry = {generation, next};
    return entry.number;
  }

private:
  struct Entry {
    uint32_t generation = 0, number = 0;
  };
  /// The instances of one tensor.
  struct Instances {
    size_t begin, experts;
  };
  size_t placeOf(unsigned type, const Piece &piece) const {
    const Instances &of = instances[piece.tensor];
    return (of.begin + piece.layer * of.experts + piece.expert) * types + type;
  }

  const size_t types;
  llvm::SmallVector<Instances, 0> instances; ///< by tensor
  std::vector<Entry> entries;
  uint32_t generation = 1;
};

/// Serve one replay at a time; what it takes from the ids stays.
struct ReplayTables {
  explicit ReplayTables(const TensorTable &table) : ids(table), shards(table) {}

  ReadIds ids;
  ShardNumbers shards;
};

} // namespace etc

#endif // ETC_LIB_VERIFY_REPLAYTABLES_H
