//===- InstructionWriter.cpp - Creates instructions -----------------------===//

#include "InstructionWriter.h"

using namespace etc;
using namespace mlir;

InstructionWriter::InstructionWriter(MLIRContext *context)
    : builder(context), refer(ReferOp::getOperationName(), context),
      derive(DeriveOp::getOperationName(), context),
      zero(ZeroOp::getOperationName(), context),
      send(SendOp::getOperationName(), context),
      recv(RecvOp::getOperationName(), context),
      release(ReleaseOp::getOperationName(), context),
      noAttributes(builder.getDictionaryAttr({})), unit(builder.getUnitAttr()) {
}

IntegerAttr InstructionWriter::getHop(unsigned hop) {
  while (hops.size() <= hop)
    hops.push_back(hops.empty() ? IntegerAttr()
                                : builder.getI64IntegerAttr(hops.size()));
  return hops[hop];
}

template <typename Properties>
void InstructionWriter::append(mlir::Block &block, OperationName name,
                               Location loc, ValueRange operands,
                               Properties properties) {
  block.push_back(Operation::create(loc, name, TypeRange(), operands,
                                    noAttributes, &properties, BlockRange(),
                                    /*numRegions=*/0));
}

void InstructionWriter::write(mlir::Block &block, ProgramOp program,
                              const Instruction &instruction,
                              FoldedIds::Names names) {
  const auto [ids, types] = names;
  const Location loc = program.getLoc();
  const Value peer = program.getBody().getArgument(instruction.peer);
  const IntegerAttr hop = getHop(instruction.hop);
  const UnitAttr transit = instruction.transit ? unit : UnitAttr();
  switch (instruction.action) {
  case Action::Refer:
    return append(block, refer, loc, {},
                  ReferOp::Properties{.wid = ids, .wt = types});
  case Action::Derive:
    return append(block, derive, loc, {},
                  DeriveOp::Properties{.wid = ids, .wt = types});
  case Action::Zero:
    return append(block, zero, loc, {},
                  ZeroOp::Properties{.wid = ids, .wt = types});
  case Action::Send:
    return append(block, send, loc, peer,
                  SendOp::Properties{
                      .hop = hop, .transit = transit, .wid = ids, .wt = types});
  case Action::Recv:
    return append(block, recv, loc, peer,
                  RecvOp::Properties{
                      .hop = hop, .transit = transit, .wid = ids, .wt = types});
  case Action::Release:
    return append(
        block, release, loc, {},
        ReleaseOp::Properties{.transit = transit, .wid = ids, .wt = types});
  }
}
