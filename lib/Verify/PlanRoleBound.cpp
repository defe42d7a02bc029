//===- PlanRoleBound.cpp - The bound over all roles in a plan file --------===//

#include "PlanRoleBound.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

using namespace etc;
using namespace etc::plan;
namespace fb = etc::plan::fb;

namespace {

/// What a plan's own messages take of links and NICs.
class PortLoads {
public:
  explicit PortLoads(const PlanIndex &index);

  /// The most bytes that one link sends or receives, and one NIC.
  std::pair<uint64_t, uint64_t> findMost() const { return {link, nic}; }

private:
  void add(uint32_t from, uint32_t to, uint64_t bytes);
  uint64_t nicOf(uint32_t device, uint32_t node) const;

  const PlanIndex &index;
  std::vector<uint32_t> firstOf; ///< [node]
  /// By link (a device), or by node and NIC: bytes out and in.
  std::map<std::pair<uint32_t, uint64_t>, std::array<uint64_t, 2>> links, nics;
  uint64_t link = 0, nic = 0;
};

} // namespace

PortLoads::PortLoads(const PlanIndex &index) : index(index) {
  uint32_t first = 0;
  for (uint32_t size : index.nodes()) {
    firstOf.push_back(first);
    first += size;
  }
  for (uint32_t p = 0; p != index.programCount(); ++p) {
    const fb::Program &program = index.program(p);
    std::map<uint32_t, uint64_t> bytesOfSlot;
    for (const fb::Round *round : *program.rounds())
      for (const fb::Op *op : *round->ops())
        if (op->kind() == fb::OpKind::send)
          bytesOfSlot[op->peer()] += index.opBytes(*op);
    for (auto [slot, bytes] : bytesOfSlot)
      for (uint32_t i = 0; i != program.devices()->size(); ++i)
        add(program.devices()->Get(i),
            program.peers()->Get(slot)->devices()->Get(i), bytes);
  }
}

uint64_t PortLoads::nicOf(uint32_t device, uint32_t node) const {
  const uint64_t size = index.nodes()[node];
  return std::min<uint64_t>(index.plan().resources()->nics(), size) *
         (device - firstOf[node]) / size;
}

void PortLoads::add(uint32_t from, uint32_t to, uint64_t bytes) {
  const uint32_t nodes[] = {index.nodeOf(from), index.nodeOf(to)};
  const bool isInside = nodes[0] == nodes[1];
  uint64_t &most = isInside ? link : nic;
  for (int end : {0, 1}) {
    const uint32_t device = end == 0 ? from : to;
    uint64_t &load = isInside
                         ? links[{device, 0}][end]
                         : nics[{nodes[end], nicOf(device, nodes[end])}][end];
    most = std::max(most, load += bytes);
  }
}

Status etc::verifyRoleBound(const PlanIndex &index) {
  const fb::RoleBound *bound = index.plan().role_bound();
  if (!bound)
    return Status::success();
  const fb::Resources &resources = *index.plan().resources();
  const auto [link, nic] = PortLoads(index).findMost();
  auto isReached = [&](uint64_t bytes, uint64_t rate) {
    return static_cast<unsigned __int128>(bytes) * bound->rate() >=
           static_cast<unsigned __int128>(bound->bytes()) * rate;
  };
  if (isReached(link, resources.link_rate()) ||
      isReached(nic, resources.nic_rate()))
    return Status::success();
  return malformed("role_bound: is ", bound->bytes(), " bytes at ",
                   bound->rate(),
                   " bytes a second, but no link or NIC of the plan itself "
                   "needs as long");
}
