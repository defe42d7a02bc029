//===- PlanReplay.h - Programs replayed against lib/Layout ----------------===//

#ifndef ETC_LIB_TRANSFORMS_PLANREPLAY_H
#define ETC_LIB_TRANSFORMS_PLANREPLAY_H

#include "etc/Transforms/LayoutOracle.h"

#include "llvm/ADT/MapVector.h"

namespace etc {

/// A transfer as both ends must list it.
struct Message {
  int64_t round;
  unsigned type;
  Piece piece;
  bool tied;
  bool relayed;
  auto operator<=>(const Message &) const = default;
};

/// One program, replayed round by round.
class ProgramReplay {
public:
  ProgramReplay(ProgramOp program, const TensorTable &table,
                const LayoutOracle &oracle);

  /// Every byte of the current role is written once, from what is there, and
  /// the stated peaks are the real ones.
  mlir::LogicalResult run();
  /// Only what the previous state has nowhere begins as zeroes. Valid after
  /// `run`.
  mlir::LogicalResult checkZeroes() const;

  /// Sorted, by peer argument. Valid after `run`.
  llvm::ArrayRef<Message> getSends(unsigned peer) const { return sends[peer]; }
  llvm::ArrayRef<Message> getRecvs(unsigned peer) const { return recvs[peer]; }
  /// Bytes of the current role that the program keeps without a transfer, of
  /// the types that move.
  int64_t getKeptBytes() const { return keptBytes; }
  /// Bytes of all rounds that one peer held before the migration.
  int64_t getReceivedBytes(unsigned peer) const {
    int64_t bytes = 0;
    for (const Message &message : recvs[peer])
      bytes += message.relayed ? 0 : bytesOf(message.piece, message.type);
    return bytes;
  }

private:
  /// Type, layer, expert, tensor.
  using Key = std::tuple<unsigned, int64_t, int64_t, unsigned>;
  struct Write {
    Piece piece;
    int64_t round;
    InstructionOpInterface op;
  };
  struct State {
    std::vector<Write> writes;
    llvm::SmallVector<Piece, 1> releasedPieces;
    int64_t bound = -1;    // round
    int64_t released = -1; // round
    int64_t lastRead = -1; // round
    InstructionOpInterface reader;
  };
  mlir::LogicalResult replay(InstructionOpInterface op, int64_t round);
  mlir::LogicalResult replayPiece(InstructionOpInterface op, int64_t round,
                                  unsigned type, Piece piece);
  mlir::LogicalResult read(InstructionOpInterface op, int64_t round,
                           unsigned type, Piece piece);
  mlir::LogicalResult relay(InstructionOpInterface op, int64_t round,
                            unsigned type, const Piece &piece);
  mlir::LogicalResult derive(InstructionOpInterface op, int64_t round,
                             unsigned type, const Piece &piece);
  mlir::LogicalResult release(InstructionOpInterface op, int64_t round,
                              unsigned type, Piece piece);
  void bindShards();
  mlir::LogicalResult checkCoverage();
  mlir::LogicalResult checkCovered(llvm::ArrayRef<Piece> wanted, unsigned type);
  mlir::LogicalResult checkDisjoint(llvm::MutableArrayRef<Write> writes,
                                    llvm::StringRef typeName);
  mlir::LogicalResult checkReleases();
  mlir::LogicalResult checkLiveness();
  mlir::LogicalResult checkPeaks();
  /// Whether all of a piece was written before a round.
  bool isThere(unsigned type, const Piece &piece, int64_t round);
  /// What the device held of the tensor that a piece is of.
  llvm::ArrayRef<Piece> findPrev(const Piece &piece) const;
  llvm::StringRef getTypeName(unsigned type) const;
  /// The positions of a piece, as ids write them.
  std::string showBox(const Piece &piece) const;
  int64_t bytesOf(const Piece &piece, unsigned type) const;
  static Key keyOf(unsigned type, const Piece &piece) {
    return {type, piece.layer, piece.expert, piece.tensor};
  }

  ProgramOp program;
  const TensorTable &table;
  const LayoutOracle &oracle;
  mutable MigrationOp migration; ///< ops are handles, their getters not const
  llvm::ArrayRef<Piece> prev, curr;
  llvm::MapVector<Key, State> states;
  int64_t rounds = 0;
  llvm::SmallVector<llvm::SmallVector<Message>> sends, recvs;
  llvm::SmallVector<std::pair<InstructionOpInterface, Piece>> zeroes;
  int64_t keptBytes = 0;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_PLANREPLAY_H
