//===- Replay.h - What a program does to each tensor ------------*- C++ -*-===//
//
// A program turned around: from rounds of instructions to tensors that list who
// writes, reads and releases them, and when. Judges nothing; the rules do.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_VERIFY_REPLAY_H
#define ETC_LIB_VERIFY_REPLAY_H

#include "ReplayTables.h"
#include "etc/Verify/LayoutOracle.h"

#include "llvm/ADT/MapVector.h"

#include <deque>

namespace etc {

/// A transfer as both ends must list it.
struct Message {
  int64_t round;
  const Piece *piece; ///< of the tables
  /// What it relays arrived with one hop less; the first has 0.
  int64_t hop;
  unsigned type;

  auto operator<=>(const Message &other) const {
    return std::tie(round, type, *piece, hop) <=>
           std::tie(other.round, other.type, *other.piece, other.hop);
  }
  bool operator==(const Message &other) const {
    return round == other.round && type == other.type && hop == other.hop &&
           (piece == other.piece || *piece == *other.piece);
  }
};

/// What a program exchanges with others, and what it does not have to.
struct Exchanges {
  /// By the argument of the peer, sorted.
  llvm::SmallVector<llvm::SmallVector<Message, 0>, 0> sends, recvs;
  /// Bytes that arrive in transit from where they were before, by argument.
  llvm::SmallVector<int64_t> passedBytes;
  /// Bytes of the current role that are kept without a transfer, of the types
  /// that move.
  int64_t keptBytes = 0;
};

/// An instruction on a piece, in one type.
struct Access {
  const Piece &piece; ///< of the tables, or of the replay
  int64_t round;
  mlir::Operation *op;
};

/// What a device receives of a tensor to pass it on: its receives, its sends
/// and the release, whose ids name all of it.
struct Transit {
  std::vector<Access> writes, reads, releases;

  int64_t getReleased() const { return releases.front().round; }
};

/// One tensor of one layer and expert in one type, on a device of a program.
struct Shard {
  std::vector<Access> writes;   ///< of the current state
  std::vector<Access> reads;    ///< of the previous state
  std::vector<Access> relays;   ///< reads of the current state
  std::vector<Access> releases; ///< of the previous state
  bool isBound = false;         ///< the previous memory becomes the current one

  /// The round that releases it, or -1.
  int64_t getReleased() const {
    return releases.empty() ? -1 : releases.front().round;
  }
};

/// One program, replayed.
class Replay {
public:
  /// No other replay uses the tables as long as this one does.
  Replay(ProgramOp program, const TensorTable &table,
         const LayoutOracle &oracle, ReplayTables &tables);

  /// Type, layer, expert, tensor.
  using Key = std::tuple<unsigned, int64_t, int64_t, unsigned>;
  static Key keyOf(unsigned type, const Piece &piece) {
    return {type, piece.layer, piece.expert, piece.tensor};
  }

  ProgramOp getProgram() const { return program; }
  MigrationOp getMigration() const { return migration; }
  const TensorTable &getTable() const { return table; }
  const LayoutOracle &getOracle() const { return oracle; }
  /// What the device held and is to hold, by lib/Layout, sorted.
  llvm::ArrayRef<Piece> getPrev() const { return prev; }
  llvm::ArrayRef<Piece> getCurr() const { return curr; }
  /// What it held of the tensor that a piece is of.
  llvm::ArrayRef<Piece> findPrev(const Piece &piece) const;
  int64_t getRounds() const { return rounds; }

  /// In the order in which instructions name them first.
  llvm::ArrayRef<std::pair<Key, Shard>> getShards() const { return shards; }
  const llvm::MapVector<Key, Transit> &getTransits() const { return transits; }
  /// Nothing is done to a shard that is not listed.
  const Shard &getShard(unsigned type, const Piece &piece) const;
  const Exchanges &getExchanges() const { return exchanges; }
  Exchanges takeExchanges() { return std::move(exchanges); }

  int64_t bytesOf(const Piece &piece, unsigned type) const {
    return piece.size() * table.getTypeBytes(type);
  }
  /// For messages.
  llvm::StringRef getTypeName(unsigned type) const;
  /// The positions of a piece, as ids write them.
  std::string showBox(const Piece &piece) const;

private:
  void add(mlir::Operation *op, int64_t round);
  void addSend(SendOp op, int64_t round);
  void addRecv(RecvOp op, int64_t round);
  void addRelease(ReleaseOp op, int64_t round);
  void addWrite(InstructionOpInterface op, int64_t round);
  void addRead(unsigned type, const Access &access);
  Shard &shardOf(unsigned type, const Piece &piece);
  bool isBound(const Shard &shard) const;

  ProgramOp program;
  MigrationOp migration;
  const TensorTable &table;
  const LayoutOracle &oracle;
  LayoutOracle::Pieces prev, curr;
  int64_t rounds = 0;
  ReplayTables &tables; ///< the numbers of `shards` are there
  std::vector<std::pair<Key, Shard>> shards;
  std::deque<Piece> twins; ///< that are read
  llvm::MapVector<Key, Transit> transits;
  Exchanges exchanges;
};

/// Whether all of the piece is in others of its tensor.
bool isCovered(const Piece &piece, llvm::ArrayRef<Piece> others);

} // namespace etc

#endif // ETC_LIB_VERIFY_REPLAY_H
