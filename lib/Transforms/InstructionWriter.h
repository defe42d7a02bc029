//===- InstructionWriter.h - Creates instructions ---------------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_INSTRUCTIONWRITER_H
#define ETC_LIB_TRANSFORMS_INSTRUCTIONWRITER_H

#include "FoldedIds.h"
#include "etc/Analysis/Programs.h"

#include "mlir/IR/Builders.h"

namespace etc {

/// Creates the ops of instructions. A large plan has millions: names and
/// attributes are looked up once, and no lists are filled on the way, as the
/// builders of ops do.
class InstructionWriter {
public:
  explicit InstructionWriter(mlir::MLIRContext *context);

  /// At the end of a block of the program.
  void write(mlir::Block &block, ProgramOp program,
             const Instruction &instruction, FoldedIds::Names names);

private:
  template <typename Properties>
  void append(mlir::Block &block, mlir::OperationName name, mlir::Location loc,
              mlir::ValueRange operands, Properties properties);
  mlir::IntegerAttr getHop(unsigned hop);

  mlir::Builder builder;
  const mlir::OperationName refer, derive, zero, send, recv, release;
  const mlir::DictionaryAttr noAttributes;
  const mlir::UnitAttr unit;
  llvm::SmallVector<mlir::IntegerAttr> hops; ///< none of hop 0
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_INSTRUCTIONWRITER_H
