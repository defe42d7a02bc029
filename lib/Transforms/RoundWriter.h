//===- RoundWriter.h - Instructions into rounds -----------------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_ROUNDWRITER_H
#define ETC_LIB_TRANSFORMS_ROUNDWRITER_H

#include "etc/Analysis/ProgramFlows.h"

#include "mlir/IR/Builders.h"

#include <deque>
#include <unordered_map>

namespace etc {

/// Rewrites programs into rounds, chunk by chunk.
class RoundWriter {
public:
  RoundWriter(MigrationOp migration, const ProgramFlows &flows, int rounds);

  /// A portion of one item goes into `round`. Bound state is bound in round 0.
  void add(unsigned item, const Portion &portion, int round);
  /// Replaces the bodies of all programs, and states their slabs and peaks.
  void write();

private:
  /// What one instruction, by its order, does in one round; the release comes
  /// last.
  struct Share {
    int round;
    unsigned order;
    unsigned type;
    const Piece *piece;
    auto key() const { return std::tuple(round, order, type); }
  };
  struct Program {
    std::vector<Share> shares;
    llvm::SmallVector<InstructionOpInterface> ops;
  };
  /// Some pieces beside some types.
  struct Beside {
    mlir::ArrayAttr types;
    llvm::SmallVector<const Piece *, 4> pieces;
    bool operator==(const Beside &other) const;
  };
  /// The part of a step that goes in a portion.
  const Piece *findPart(const Step &step, const Portion &portion);
  void writeProgram(ProgramOp op, Program &program);
  void writeStep(mlir::OpBuilder &builder, ProgramOp program,
                 InstructionOpInterface op, llvm::ArrayRef<Share> shares);
  mlir::ArrayAttr fold(const Beside &key);
  void statePeaks(ProgramOp op, unsigned program);

  MigrationOp migration;
  const ProgramFlows &flows;
  llvm::SmallVector<Program> programs;
  std::deque<Piece> parts; ///< of what is cut; all else is a piece of `flows`
  /// [program][round] bytes.
  struct Bytes {
    int64_t allocated = 0, released = 0, sent = 0, received = 0;
  };
  llvm::SmallVector<llvm::SmallVector<Bytes>> bytes;
  llvm::SmallVector<int64_t> bound; ///< [program] bytes
  struct FoldHash {
    size_t operator()(const Beside &key) const;
  };
  std::unordered_map<Beside, mlir::ArrayAttr, FoldHash> folded;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_ROUNDWRITER_H
