//===- RoundWriter.h - Instructions into rounds -----------------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_ROUNDWRITER_H
#define ETC_LIB_TRANSFORMS_ROUNDWRITER_H

#include "FoldedIds.h"
#include "etc/Analysis/ProgramFlows.h"

#include "mlir/IR/Builders.h"

namespace etc {

/// Writes the bodies of programs, round by round, and states their peaks.
class RoundWriter {
public:
  RoundWriter(const ProgramFlows &flows,
              llvm::ArrayRef<DeviceProgram> programs);

  /// A portion of one item goes into `round`. Bound state is bound in round 0.
  void add(unsigned item, const Portion &portion, int64_t round);
  /// The body of program `index`, once all portions are there; `op` has its
  /// arguments. Called once.
  void write(unsigned index, ProgramOp op);

private:
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
  const Piece *findPart(const Step &step, const Portion &portion);
  void writeStep(mlir::OpBuilder &builder, ProgramOp program,
                 const Instruction &instruction, llvm::ArrayRef<Share> shares);
  void statePeaks(unsigned index, ProgramOp op);
  bool hasTail() const { return firstDeferred != never; }

  const ProgramFlows &flows;
  llvm::ArrayRef<DeviceProgram> programs;
  FoldedIds folded;
  std::vector<std::vector<Share>> shares; ///< [program]
  /// Of what is cut, by the whole piece, the number of the part and how many
  /// there are: both ends have the same. All else is a piece of `flows`.
  llvm::DenseMap<std::tuple<const Piece *, int64_t, int64_t>, const Piece *>
      partOfWhole;
  std::deque<Piece> parts;
  llvm::SmallVector<llvm::SmallVector<Bytes>> bytes; ///< [program][round]
  /// Round; nothing is deferred where there is none of the number.
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();
  int64_t firstDeferred = never;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_ROUNDWRITER_H
