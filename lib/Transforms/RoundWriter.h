//===- RoundWriter.h - Instructions into rounds -----------------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_ROUNDWRITER_H
#define ETC_LIB_TRANSFORMS_ROUNDWRITER_H

#include "FoldedIds.h"
#include "etc/Analysis/ProgramFlows.h"

#include "mlir/IR/Builders.h"

#include <unordered_set>

namespace etc {

/// Writes the bodies of programs, round by round, and states their peaks.
class RoundWriter {
public:
  RoundWriter(const ProgramFlows &flows,
              llvm::ArrayRef<DeviceProgram> programs);

  /// A portion of one item goes into `round`. Bound state is bound in round 0.
  void add(unsigned item, const Portion &portion, int64_t round);
  /// The body of program `index`, once all portions are there; `op` has its
  /// arguments.
  void write(unsigned index, ProgramOp op);

private:
  struct Placed {
    Portion portion;
    int64_t round;
  };
  /// What a program does with one item: a flow, by its number there.
  struct FlowOfItem {
    unsigned item, flow;
  };
  /// What one instruction, by its order, does in one round; the release comes
  /// last.
  struct Share {
    int64_t round;
    unsigned order;
    unsigned type;
    const Piece *piece;
    auto key() const { return std::tuple(round, order, type); }
  };
  /// Bytes of one round.
  struct Bytes {
    int64_t allocated = 0, released = 0, sent = 0, received = 0;
    int64_t arrived = 0, passedOn = 0; ///< what does not stay
  };
  /// Where the parts of a piece begin in `parts`. Equal ones are one piece.
  size_t findParts(const Piece &whole, int64_t chunks);
  const Piece *findWhole(const Piece &whole) {
    return parts[findParts(whole, 1)];
  }
  Bytes &accountOf(int64_t round);
  void addFlow(const ItemFlow &flow, llvm::ArrayRef<Placed> all);
  void writeStep(mlir::OpBuilder &builder, ProgramOp program,
                 const Instruction &instruction, llvm::ArrayRef<Share> shares);
  void statePeaks(unsigned index, ProgramOp op);
  bool hasTail() const { return firstDeferred != never; }

  const ProgramFlows &flows;
  llvm::ArrayRef<DeviceProgram> programs;
  FoldedIds folded;
  std::vector<llvm::SmallVector<Placed, 0>> placedOf;    ///< [item]
  std::vector<llvm::SmallVector<FlowOfItem, 0>> flowsOf; ///< [program]
  /// Of the program that is being written.
  std::vector<Share> shares;
  llvm::SmallVector<Bytes> bytes; ///< [round]
  /// By the whole piece and how many parts there are, where its parts begin in
  /// `parts`: both ends of a message have the same.
  llvm::DenseMap<std::pair<const Piece *, int64_t>, size_t> firstPart;
  std::vector<const Piece *> parts; ///< of `distinct`
  std::unordered_set<Piece, PieceHash> distinct;
  /// Round; nothing is deferred where there is none of the number.
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();
  int64_t firstDeferred = never;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_ROUNDWRITER_H
