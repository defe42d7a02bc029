#include "view/report/DeviceRounds.h"

#include "core/plan/PeakRatios.h"
#include "view/simulate/Memory.h"

using namespace etc::runtime;
using etc::plan::PlanIndex;
using etc::plan::Side;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

DeviceRounds etc::runtime::deviceRoundsOf(const PlanIndex &index,
                                          uint32_t program) {
  const auto &entry = index.program(program);
  DeviceRounds track;
  track.before = etc::plan::heldBytes(index, program, Side::Prev) +
                 entry.send_slab() + entry.recv_slab();
  for (RoundMemory memory : memoryOf(index, program)) {
    track.during.push_back(memory.during);
    track.after.push_back(memory.after);
  }
  for (const auto *round : *entry.rounds()) {
    uint64_t sent = 0, received = 0;
    for (const Op *op : *round->ops()) {
      if (op->kind() == OpKind::send)
        sent += index.opBytes(*op);
      if (op->kind() == OpKind::recv)
        received += index.opBytes(*op);
    }
    track.sent.push_back(sent);
    track.received.push_back(received);
  }
  return track;
}
