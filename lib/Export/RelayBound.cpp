//===- RelayBound.cpp - Bytes between nodes where devices pass them on ----===//

#include "RelayBound.h"

#include "core/plan/Certificates.h"
#include "core/plan/TensorSize.h"
#include "etc/Export/Export.h"
#include "etc/Geometry.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace etc;
namespace fb = etc::plan::fb;

namespace {
/// Bytes that devices need, by how many of one node can need the same ones.
using Needs = std::map<uint64_t, uint64_t, std::greater<>>;

/// A box of a tensor, or of one that it is tied to, and how many devices have
/// it in the end.
struct NeededBox {
  BoxView box;
  uint64_t devices;
};
} // namespace

/// The tensors that some device has before the migration.
static llvm::DenseSet<uint32_t> findPrevious(const fb::PlanT &plan) {
  llvm::DenseSet<uint32_t> tensors;
  for (const auto &program : plan.programs)
    for (uint32_t shard : program->prev_shards)
      tensors.insert(plan.shards[shard].tensor());
  return tensors;
}

/// By the tensor that the bytes come from.
static std::map<uint32_t, std::vector<NeededBox>>
findBoxes(const fb::PlanT &plan) {
  // What all lanes have alike, all of their devices have.
  auto lanesOf = [&](uint32_t tensor) -> uint64_t {
    return plan.lanes && plan.lanes->axes[tensor] < 0 ? plan.lanes->count : 1;
  };
  std::vector<uint64_t> holders(plan.shards.size());
  for (const auto &program : plan.programs)
    for (uint32_t shard : program->curr_shards)
      holders[shard] += program->devices.size();
  const llvm::DenseSet<uint32_t> previous = findPrevious(plan);
  std::map<uint32_t, std::vector<NeededBox>> boxes;
  for (auto [shard, count] : llvm::zip_equal(plan.shards, holders)) {
    const fb::TensorT &tensor = *plan.tensors[shard.tensor()];
    if (count == 0 || tensor.is_derived)
      continue;
    const bool isCopied =
        tensor.tied_to >= 0 && !previous.contains(shard.tensor());
    const uint32_t source = isCopied ? tensor.tied_to : shard.tensor();
    for (uint32_t i = 0; i < shard.box_count(); ++i)
      boxes[source].push_back(
          {BoxView::ofBounds(&plan.bounds[plan.boxes[shard.first_box() + i]],
                             tensor.shape.size()),
           count * lanesOf(shard.tensor())});
  }
  return boxes;
}

/// Boxes that have bytes in common are taken for the same.
static void addNeeds(llvm::ArrayRef<NeededBox> boxes, uint64_t elementBytes,
                     uint64_t largestNode, Needs &needs) {
  llvm::IntEqClasses clusters(boxes.size());
  for (unsigned i = 0; i < boxes.size(); ++i)
    for (unsigned j = 0; j < i; ++j)
      if (intersects(boxes[i].box, boxes[j].box))
        clusters.join(i, j);
  clusters.compress();
  std::vector<uint64_t> devices(clusters.getNumClasses()),
      bytes(clusters.getNumClasses());
  for (auto [number, box] : llvm::enumerate(boxes)) {
    devices[clusters[number]] += box.devices;
    bytes[clusters[number]] += volume(box.box) * elementBytes * box.devices;
  }
  for (auto [count, sum] : llvm::zip_equal(devices, bytes))
    needs[std::min(count, largestNode)] += sum;
}

uint64_t etc::boundWithRelays(const fb::PlanT &plan, uint64_t bound,
                              CopiesFn copies) {
  const uint64_t lanes = plan.lanes ? plan.lanes->count : 1,
                 largestNode = *llvm::max_element(plan.nodes) * lanes;
  Needs needs;
  for (const auto &[tensor, boxes] : findBoxes(plan)) {
    // Parts are as many as lanes.
    const uint64_t parts =
        plan.lanes && plan.lanes->axes[tensor] < 0 ? 1 : lanes;
    addNeeds(boxes,
             copies(tensor) * parts *
                 plan::elementBytes(plan.tensors[tensor]->dtype),
             largestNode, needs);
  }
  uint64_t entering = 0;
  for (auto [sharing, bytes] : needs) {
    const uint64_t part = std::min(bound, bytes);
    entering += part / sharing;
    bound -= part;
  }
  return entering;
}

uint64_t etc::boundOfLanes(const fb::PlanT &plan, const fb::Plan &packed) {
  const fb::Certificate *certificate =
      plan::findCertificate(packed, fb::Quantity::internode_bytes);
  if (!certificate)
    return 0;
  const plan::PlanIndex index(packed);
  const uint64_t kept =
      plan::keptAtMost(packed, *certificate, plan::columnsOfNodes(index));
  return boundWithRelays(plan,
                         plan.lanes->count * (plan::neededBytes(index) - kept));
}
