//===- PortLoads.cpp - How long units occupy links and NICs ---------------===//

#include "PortLoads.h"

#include <map>
#include <set>

using namespace etc;
using namespace mlir;

SmallVector<int64_t> etc::findNics(ResourcesAttr resources,
                                   const Devices &devices) {
  SmallVector<int64_t> sizes(devices.getNodeCount()), seen(sizes.size()), found;
  for (int64_t device = 0; device < devices.size(); ++device)
    ++sizes[devices.getNode(device)];
  for (int64_t device = 0; device < devices.size(); ++device) {
    const int64_t node = devices.getNode(device),
                  nics = std::min(resources.getNics(), sizes[node]);
    found.push_back(node * resources.getNics() +
                    seen[node]++ * nics / sizes[node]);
  }
  return found;
}

PortLoads::PortLoads(ResourcesAttr resources, const ProgramFlows &flows,
                     ArrayRef<DeviceProgram> programs, const Devices &devices)
    : resources(resources), flows(flows), programs(programs), devices(devices),
      nics(programs.size()), links(programs.size()) {
  addNics(findNics(resources, devices));
  addLinks();
}

void PortLoads::addNics(ArrayRef<int64_t> nicOf) {
  /// Which programs run on a NIC's devices, and as which of their replicas.
  struct Devices {
    SmallVector<unsigned, 2> programs;
    SmallVector<int64_t, 2> replicas;
  };
  std::map<int64_t, Devices> devicesOf;
  for (auto [number, program] : llvm::enumerate(programs))
    for (auto [replica, device] : llvm::enumerate(program.devices.front())) {
      devicesOf[nicOf[device]].programs.push_back(number);
      devicesOf[nicOf[device]].replicas.push_back(replica);
    }
  std::set<SmallVector<unsigned, 2>> seen;
  for (const auto &[nic, its] : devicesOf) {
    if (!seen.insert(its.programs).second)
      continue;
    for (auto [number, replica] : llvm::zip_equal(its.programs, its.replicas))
      nics[number].push_back({replica, ports});
    ports += 2;
  }
}

void PortLoads::addLinks() {
  for (SmallVector<Use, 1> &uses : links) {
    uses.push_back({0, ports});
    ports += 2;
  }
}

/// Of one unit.
class PortLoads::Sums {
public:
  explicit Sums(const PortLoads &all) : all(all), seconds(all.ports) {}

  void add(const ItemFlow &flow, const Portion &portion);
  std::vector<rounds::Load> take();

private:
  void add(const DeviceProgram &program, const Step &step, int64_t bytes,
           ArrayRef<Use> uses, bool isFar);

  const PortLoads &all;
  std::vector<double> seconds; ///< [ports]
  std::vector<int32_t> used;
};

void PortLoads::Sums::add(const DeviceProgram &program, const Step &step,
                          int64_t bytes, ArrayRef<Use> uses, bool isFar) {
  const int64_t rate =
      isFar ? all.resources.getNicRate() : all.resources.getLinkRate();
  for (const Use &use : uses) {
    const int64_t node =
                      all.devices.getNode(program.devices.front()[use.replica]),
                  peer = all.devices.getNode(
                      program.devices[step.instruction->peer][use.replica]);
    if ((node != peer) != isFar)
      continue;
    const int32_t port = use.port + (step.isSend() ? 0 : 1);
    if (seconds[port] == 0)
      used.push_back(port);
    seconds[port] += double(bytes) / double(rate);
  }
}

void PortLoads::Sums::add(const ItemFlow &flow, const Portion &portion) {
  for (const Step &step : flow.steps) {
    if (!step.isTransfer())
      continue;
    const int64_t bytes = elementsOf(step, portion) *
                          all.flows.getTable().getTypeBytes(portion.type);
    if (bytes == 0)
      continue;
    const DeviceProgram &program = all.programs[flow.program];
    add(program, step, bytes, all.nics[flow.program], /*isFar=*/true);
    add(program, step, bytes, all.links[flow.program], /*isFar=*/false);
  }
}

std::vector<rounds::Load> PortLoads::Sums::take() {
  llvm::sort(used);
  std::vector<rounds::Load> loads;
  loads.reserve(used.size());
  for (int32_t port : used) {
    loads.push_back({port, static_cast<int64_t>(1e9 * seconds[port])});
    seconds[port] = 0;
  }
  used.clear();
  return loads;
}

std::vector<rounds::Load> PortLoads::find(unsigned item,
                                          const Portion &portion) const {
  Sums sums(*this);
  for (const ItemFlow &flow : flows.getFlows(item))
    sums.add(flow, portion);
  return sums.take();
}
