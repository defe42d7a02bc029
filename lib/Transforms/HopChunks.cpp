//===- HopChunks.cpp - What chunks do at one hop --------------------------===//

#include "HopChunks.h"

using namespace etc;
using namespace mlir;

unsigned etc::findLastHop(ArrayRef<ItemFlow> flows, unsigned type) {
  unsigned last = 0;
  for (const ItemFlow &flow : flows)
    last = std::max(last, flow.getLastHop(type));
  return last;
}

HopMost::HopMost(const ProgramFlows &flows, unsigned item, unsigned type)
    : lastHop(findLastHop(flows.getFlows(item), type)) {
  const int64_t size = flows.getTable().getTypeBytes(type);
  for (const ItemFlow &flow : flows.getFlows(item)) {
    Most its = {flow.program, 0, 0};
    for (unsigned hop = 0; hop <= lastHop; ++hop) {
      const Portion whole = {type, 0, 1, hop, /*derives=*/false};
      its.sent = std::max(its.sent, flow.getSent(whole) * size);
      its.received = std::max(its.received, flow.getReceived(whole) * size);
    }
    if (its.sent > 0 || its.received > 0)
      most.push_back(its);
  }
}

int64_t HopMost::countChunks(ArrayRef<rounds::ClassMemory> classes,
                             int64_t parts) const {
  int64_t count = 1;
  for (const auto &[program, sent, received] : most) {
    const rounds::ClassMemory &memory = classes[program];
    count = std::max({count, rounds::countChunks(sent, memory.sendSlab, parts),
                      rounds::countChunks(received, memory.recvSlab, parts)});
  }
  return count;
}

HopChunks::HopChunks(const ProgramFlows &flows, unsigned item,
                     const Portion &portion, const PortLoads *ports)
    : flows(flows), item(item), portion(portion), ports(ports),
      sizes(flows.getFlows(item), portion) {
  ArrayRef<ItemFlow> all = flows.getFlows(item);
  const size_t axes = sizes.getLengths().size();
  elements.resize(all.size() * axes);
  for (auto [number, flow] : llvm::enumerate(all))
    for (const Step &step : flow.steps)
      if (const std::optional<unsigned> axis = sizes.findAxis(step, portion)) {
        Elements &its = elements[number * axes + *axis];
        (step.isSend() ? its.sent : its.received) +=
            step.piece->size() / sizes.getLengths()[*axis];
      }
  first = findTouches(0);
  if (portion.chunks > 1)
    last = findTouches(portion.chunks - 1);
}

Portion HopChunks::at(int64_t chunk) const {
  Portion one = portion;
  one.chunk = chunk;
  return one;
}

HopChunks::Touches HopChunks::findTouches(int64_t chunk) const {
  const int64_t size = flows.getTable().getTypeBytes(portion.type);
  const SmallVector<int64_t, 2> positions = sizes.getSizes(chunk);
  std::vector<rounds::Touch> touches;
  touches.reserve(flows.getFlows(item).size());
  const Elements *ofAxis = elements.data();
  for (const ItemFlow &flow : flows.getFlows(item)) {
    int64_t sent = 0, received = 0;
    for (const int64_t count : positions) {
      sent += count * ofAxis->sent;
      received += count * ofAxis->received;
      ++ofAxis;
    }
    touches.push_back(
        {static_cast<int32_t>(flow.program),
         (flow.getAllocated(at(chunk)) + flow.getArrived(at(chunk))) * size,
         (flow.getReleased(at(chunk)) + flow.getPassedOn(at(chunk))) * size,
         sent * size, received * size});
  }
  return touches;
}

rounds::Unit HopChunks::makeUnit(int64_t chunk) {
  const unsigned number = sizes.number(chunk);
  if (number == ofSizes.size())
    ofSizes.emplace_back();
  auto &[inner, loads] = ofSizes[number];
  rounds::Unit unit;
  unit.isDeferred = flows.getTable().isDeferred(portion.type);
  if (ports && !unit.isDeferred) {
    if (!loads)
      loads = ports->find(item, at(chunk));
    unit.loads = *loads;
  }
  if (chunk == 0 || chunk == portion.chunks - 1) {
    unit.touches = chunk == 0 ? first : last;
    return unit;
  }
  if (!inner)
    inner = findTouches(chunk);
  unit.touches = *inner;
  return unit;
}
