#include "core/plan/Relays.h"

using namespace etc::plan;

static uint64_t relayedBytesOf(const PlanIndex &index,
                               const fb::Program &program) {
  uint64_t bytes = 0;
  for (const fb::Round *round : *program.rounds())
    for (const fb::Op *op : *round->ops())
      if (op->kind() == fb::OpKind::send && sourceSide(*op) != Side::Prev)
        bytes += index.opBytes(*op);
  return bytes;
}

uint64_t etc::plan::relayedBytes(const PlanIndex &index,
                                 std::span<const uint64_t> copies) {
  uint64_t bytes = 0;
  for (uint32_t number = 0; number != index.programCount(); ++number) {
    const fb::Program &program = index.program(number);
    uint64_t devices = copies.empty() ? program.devices()->size() : 0;
    if (!copies.empty())
      for (uint32_t device : *program.devices())
        devices += copies[*index.rankOf(device)];
    bytes += relayedBytesOf(index, program) * devices;
  }
  return bytes;
}
