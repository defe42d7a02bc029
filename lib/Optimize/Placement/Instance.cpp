// A problem on the devices that may take a rank, or on some of these.

#include "Instance.h"

#include "llvm/ADT/BitVector.h"

namespace etc::placement {

Instance instanceOf(const Problem &problem) {
  Instance instance{problem, {}};
  for (auto [number, device] : llvm::enumerate(problem.devices))
    if (device.status == Status::Usable)
      instance.devices.push_back(
          {int64_t(number), device.node, device.prevRole});
  return instance;
}

Instance restrictTo(const Instance &instance, const Solution &solution) {
  llvm::BitVector used(unsigned(instance.problem.nodeClass.size()));
  for (int64_t device : solution.deviceOf)
    used.set(unsigned(instance.problem.devices[size_t(device)].node));
  Instance result = instance;
  llvm::erase_if(result.devices, [&](const Candidate &candidate) {
    return !used.test(unsigned(candidate.node));
  });
  return result;
}

assignment::Weight countKept(const Problem &problem,
                             llvm::ArrayRef<int64_t> deviceOf) {
  int64_t onNode = 0, onDevice = 0;
  for (auto [rank, number] : llvm::enumerate(deviceOf)) {
    const Device &device = problem.devices[size_t(number)];
    const int64_t role = int64_t(rank) / problem.replicas;
    onNode += problem.onNode.at(role, problem.nodeClass[size_t(device.node)]);
    if (device.prevRole >= 0)
      onDevice += problem.onDevice.at(role, device.prevRole);
  }
  return problem.weigh(onNode, onDevice);
}

} // namespace etc::placement
