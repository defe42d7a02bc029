//===- RoundWriter.h - Instructions into rounds -----------------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_ROUNDWRITER_H
#define ETC_LIB_TRANSFORMS_ROUNDWRITER_H

#include "FoldedIds.h"
#include "InstructionWriter.h"
#include "PartTable.h"
#include "etc/Analysis/ProgramFlows.h"

#include <limits>

namespace etc {

/// Writes the bodies of programs, round by round, and states their peaks.
class RoundWriter {
public:
  RoundWriter(mlir::MLIRContext *context, const ProgramFlows &flows,
              llvm::ArrayRef<DeviceProgram> programs);

  /// A portion of an item, and the round that it goes into. Bound state is
  /// bound in round 0.
  struct Placed {
    Portion portion;
    int64_t round;
  };
  /// All portions of one item.
  void add(unsigned item, llvm::ArrayRef<Placed> placed);
  /// The body of program `index`, once all items are there; `op` has its
  /// arguments.
  void write(unsigned index, ProgramOp op);

private:
  /// Of the parts of its pieces, a portion has those of one column.
  struct Column : Placed {
    unsigned column;
  };
  /// What a program does with one item: a flow, by its number there, and where
  /// the rows of its steps begin in `rows`, and of what it releases.
  struct FlowOfItem {
    unsigned item, flow;
    size_t rows;
  };
  /// What one instruction, by its order, does in one round; the release comes
  /// last.
  struct Share {
    uint32_t order, type, part;
    auto key() const { return std::pair(order, type); }
  };
  struct Bytes {
    int64_t allocated = 0, released = 0, sent = 0, received = 0;
    int64_t arrived = 0, passedOn = 0; ///< what does not stay
  };
  /// Of the program that is being written.
  struct Round {
    std::vector<Share> shares;
    Bytes bytes;
  };
  Round &roundOf(int64_t number);
  void addPortion(const FlowOfItem &at, const Column &placed);
  void writeRound(unsigned index, ProgramOp program, int64_t number);
  void writeStep(mlir::Block &block, ProgramOp program,
                 const Instruction &instruction, llvm::ArrayRef<Share> shares);
  void statePeaks(unsigned index, ProgramOp op);
  bool hasTail() const { return firstDeferred != never; }

  const ProgramFlows &flows;
  llvm::ArrayRef<DeviceProgram> programs;
  PartTable parts;
  FoldedIds folded;
  InstructionWriter writer;
  std::vector<llvm::SmallVector<Column, 0>> placedOf;    ///< [item]
  std::vector<llvm::SmallVector<FlowOfItem, 0>> flowsOf; ///< [program]
  std::vector<uint32_t> rows; ///< of pieces in `parts`
  std::vector<Round> rounds;
  /// Of the instruction that is being written.
  llvm::SmallVector<uint32_t> numbers;
  /// Round; nothing is deferred where there is none of the number.
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();
  int64_t firstDeferred = never;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_ROUNDWRITER_H
