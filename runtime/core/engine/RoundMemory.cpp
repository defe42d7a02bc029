#include "core/engine/RoundMemory.h"

using namespace etc::runtime;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

Status etc::runtime::allocateFor(const PlanIndex &index, uint32_t program,
                                 const RoundOps &ops, DeviceState &state) {
  for (const Op *op : ops)
    if (op->kind() != OpKind::send && op->kind() != OpKind::release &&
        !index.bindsMemory(program, *op))
      if (Status s = state.ensure(plan::targetSide(*op), op->tensor()); !s.ok())
        return s;
  return Status::success();
}

void etc::runtime::releaseAfter(const RoundOps &ops, Mode mode,
                                DeviceState &state) {
  // What was passed on is with its receivers, and of no use here.
  for (const Op *op : ops)
    if (op->kind() == OpKind::release && (op->transit() || mode == Mode::Eager))
      state.release(plan::releasedSide(*op), op->tensor());
}

Status etc::runtime::rehearseRounds(
    const PlanIndex &index, uint32_t program, Mode mode, uint32_t first,
    const std::function<bool(uint32_t)> &mayBeginEarly, DeviceState &state) {
  const auto &rounds = *index.program(program).rounds();
  auto begin = [&](uint32_t round) {
    const RoundOps &ops = *rounds.Get(round)->ops();
    Status status = allocateFor(index, program, ops, state);
    for (const Op *op : ops)
      if (status.ok() && index.bindsMemory(program, *op))
        state.bind(op->tensor());
    return status;
  };
  uint32_t begun = first;
  for (uint32_t round = first; round < rounds.size(); ++round) {
    while (begun <= round || (begun == round + 1 && begun < rounds.size() &&
                              mayBeginEarly(begun)))
      if (Status s = begin(begun++); !s.ok())
        return s;
    releaseAfter(*rounds.Get(round)->ops(), mode, state);
  }
  return Status::success();
}
