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
  /// Portions of an item that follow each other in one round. Of the parts of
  /// its pieces, they have those of one column.
  struct Run {
    Placed first;
    int64_t count;
    unsigned column;

    Portion get(int64_t number) const {
      Portion portion = first.portion;
      portion.chunk += number;
      return portion;
    }
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

    Bytes &operator+=(const Bytes &other) {
      allocated += other.allocated;
      released += other.released;
      sent += other.sent;
      received += other.received;
      arrived += other.arrived;
      passedOn += other.passedOn;
      return *this;
    }
  };
  /// Of the program that is being written.
  struct Round {
    std::vector<Share> shares;
    Bytes bytes;
  };
  bool mayJoin(unsigned item, int64_t chunks) const;
  static int64_t countAlike(llvm::ArrayRef<Placed> placed);
  Round &roundOf(int64_t number);
  Bytes countState(const ItemFlow &flow, const Run &run) const;
  void addRun(const FlowOfItem &at, const Run &run);
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
  std::vector<llvm::SmallVector<Run, 0>> runsOf;         ///< [item]
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
