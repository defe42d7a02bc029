//===- UnitTimes.cpp - How long units occupy devices ----------------------===//

#include "UnitTimes.h"

using namespace etc;
using namespace mlir;

/// By peer, those that a program sends to.
static llvm::SmallBitVector findReceivers(const DeviceProgram &program) {
  llvm::SmallBitVector receivers(program.devices.size());
  for (const Instruction &it : program.instructions)
    if (it.action == Action::Send)
      receivers.set(it.peer);
  return receivers;
}

TransferRates::TransferRates(ResourcesAttr resources, const ProgramFlows &flows,
                             ArrayRef<DeviceProgram> programs,
                             const Devices &devices,
                             const BothHoldings &holdings)
    : resources(resources), flows(flows), programs(programs),
      packings(flows, programs, holdings),
      kinds(flows,
            [&](const Step &a, const Step &b) {
              return isAlike(a, b) && packings.areAlike(a, b);
            }),
      deviceCount(devices.size()),
      portCount(devices.size() + devices.getNodeCount() * resources.getNics()) {
  const SmallVector<int64_t> nicOf = findNics(resources, devices);
  auto wayOf = [&](int64_t from, int64_t to) {
    const bool isFar = devices.getNode(from) != devices.getNode(to);
    auto portOf = [&](int64_t device) {
      return static_cast<int32_t>(isFar ? deviceCount + nicOf[device] : device);
    };
    return Way{static_cast<int32_t>(from), static_cast<int32_t>(to),
               portOf(from), portOf(to), isFar};
  };
  for (const DeviceProgram &program : programs) {
    numbers.emplace_back(program.devices.size());
    const llvm::SmallBitVector receivers = findReceivers(program);
    for (unsigned peer : receivers.set_bits()) {
      numbers.back()[peer] = ways.size();
      std::vector<Way> &ofAll = ways.emplace_back();
      for (auto [from, to] :
           llvm::zip_equal(program.devices.front(), program.devices[peer]))
        ofAll.push_back(wayOf(from, to));
    }
  }
}

UnitTimes::UnitTimes(const TransferRates &rates, ArrayRef<Chunk> chunks)
    : firsts(findFirstsAlike(rates.getFlows(), chunks, rates.getKinds())),
      copies(chunks.size()) {
  starts.reserve(chunks.size() + 1);
  for (auto [unit, chunk] : llvm::enumerate(chunks)) {
    starts.push_back(getNext());
    if (chunk.portion.isFirst() || chunk.portion.derives)
      copies.set(unit);
    if (firsts[unit] != unit)
      continue;
    for (const ItemFlow &flow : rates.getFlows().getFlows(chunk.item))
      for (const Step &step : flow.steps)
        if (step.isTransfer())
          addTransfer(rates, flow.program, step, chunk.portion);
        else
          addCopy(rates, flow.program, step, chunk.portion);
  }
  starts.push_back(getNext());
}

void UnitTimes::addCopy(const TransferRates &rates, unsigned program,
                        const Step &step, const Portion &portion) {
  if (step.binds || !step.isOf(portion.type) ||
      !(step.isDerive() ? portion.derives : portion.isFirst()))
    return;
  const double bytes = static_cast<double>(
      step.piece->size() *
      rates.getFlows().getTable().getTypeBytes(portion.type));
  copyings.push_back(
      {program, bytes / double(rates.getResources().getPackRate())});
}

void UnitTimes::addTransfer(const TransferRates &rates, unsigned program,
                            const Step &step, const Portion &portion) {
  const double bytes = static_cast<double>(
      elementsOf(step, portion) *
      rates.getFlows().getTable().getTypeBytes(portion.type));
  if (bytes == 0)
    return;
  const ResourcesAttr at = rates.getResources();
  if (rates.getPackings().isPacked(step, portion))
    packings.push_back(
        {program, step.isSend(), bytes / double(at.getPackRate())});
  if (step.isSend())
    sendings.push_back({rates.find(program, step.instruction->peer),
                        bytes / double(at.getNicRate()),
                        bytes / double(at.getLinkRate())});
}
