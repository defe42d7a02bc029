//===- SectionTotals.cpp - What like sections of a plan add up to ---------===//

#include "RelayBound.h"
#include "core/plan/Certificates.h"
#include "core/plan/Configuration.h"
#include "core/plan/TensorSize.h"
#include "core/plan/Totals.h"
#include "etc/Export/Export.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace etc;
namespace fb = etc::plan::fb;

namespace {

class TotalsWriter {
public:
  TotalsWriter(fb::PlanT &plan, const fb::Plan &packed);
  void run();

private:
  uint64_t copiesOfTensor(uint32_t tensor) const;
  uint64_t copiesOfStage(uint32_t stage) const;
  uint64_t copiesOfDevice(uint32_t device) const {
    return copies[*index.rankOf(device)];
  }
  uint64_t keptOfRoles(const fb::Certificate &certificate) const;
  uint64_t keptOnDevices(const fb::Certificate &certificate) const;
  uint64_t keptOnNodes(const fb::Certificate &certificate) const;
  uint64_t prove(fb::Quantity quantity) const;

  fb::PlanT &plan;
  fb::SectionsT &sections;
  const plan::PlanIndex index;
  const uint64_t lanes;
  std::vector<uint64_t> ofKind; ///< [kind] sections
  std::vector<uint64_t> ofNode; ///< [node] those of its kind
  std::vector<uint64_t> copies; ///< [rank]
  uint64_t needed;
};

} // namespace

TotalsWriter::TotalsWriter(fb::PlanT &plan, const fb::Plan &packed)
    : plan(plan), sections(*plan.sections), index(packed),
      lanes(plan.lanes ? plan.lanes->count : 1), ofKind(sections.kinds.size()),
      ofNode(plan.nodes.size()) {
  for (const auto &section : sections.list)
    ++ofKind[section->kind];
  for (auto [kind, count] : llvm::zip_equal(sections.kinds, ofKind))
    for (uint32_t node : kind->nodes)
      ofNode[node] = count;
  for (uint32_t device : index.participants())
    copies.push_back(ofNode[index.nodeOf(device)]);
  needed = plan::neededBytes(index, copies);
}

/// Of no layer is what only one section has.
uint64_t TotalsWriter::copiesOfTensor(uint32_t tensor) const {
  const int at = sections.number_at[tensor];
  if (at < 0)
    return 1;
  int64_t layer = std::stoll(plan.tensors[tensor]->name.substr(at));
  for (auto [kind, count] : llvm::zip_equal(sections.kinds, ofKind))
    if ((layer -= kind->layers) < 0)
      return count;
  llvm_unreachable("a layer of no kind");
}

uint64_t TotalsWriter::copiesOfStage(uint32_t stage) const {
  int64_t behind = stage;
  for (auto [kind, count] : llvm::zip_equal(sections.kinds, ofKind))
    if ((behind -= kind->curr_stages) < 0)
      return count;
  llvm_unreachable("a stage of no kind");
}

/// Roles are numbered stage by stage.
uint64_t TotalsWriter::keptOfRoles(const fb::Certificate &certificate) const {
  const fb::Configuration &curr = *index.plan().curr();
  const uint64_t inStage = plan::roleCount(curr) / curr.pp();
  uint64_t kept = 0;
  for (uint32_t role = 0; role != certificate.row_duals()->size(); ++role)
    kept += certificate.row_duals()->Get(role) * plan::replicasOfRole(curr) *
            copiesOfStage(role / inStage);
  return kept;
}

uint64_t TotalsWriter::keptOnDevices(const fb::Certificate &certificate) const {
  const fb::Configuration &prev = *index.plan().prev();
  uint64_t kept = 0;
  for (const fb::Program *program : *index.plan().programs())
    if (const fb::Role *role = program->prev_role())
      for (uint32_t device : *program->devices())
        kept +=
            certificate.column_duals()->Get(*plan::numberOfRole(prev, *role)) *
            copiesOfDevice(device);
  return kept;
}

/// Nodes without previous roles keep nothing.
uint64_t TotalsWriter::keptOnNodes(const fb::Certificate &certificate) const {
  const plan::Columns columns = plan::columnsOfNodes(index);
  std::map<std::vector<uint64_t>, uint64_t> dualOf;
  for (uint32_t column = 0; column != columns.roles.size(); ++column)
    dualOf[columns.roles[column]] = certificate.column_duals()->Get(column);
  std::vector<std::set<uint64_t>> roles(plan.nodes.size());
  for (const fb::Program *program : *index.plan().programs())
    if (const fb::Role *role = program->prev_role())
      for (uint32_t device : *program->devices())
        roles[index.nodeOf(device)].insert(
            *plan::numberOfRole(*index.plan().prev(), *role));
  uint64_t kept = 0;
  for (auto [node, onNode] : llvm::enumerate(roles))
    if (!onNode.empty())
      kept += dualOf[{onNode.begin(), onNode.end()}] * plan.nodes[node] *
              ofNode[node];
  return kept;
}

/// The bytes of all sections that the duals of a certificate leave to move.
uint64_t TotalsWriter::prove(fb::Quantity quantity) const {
  const fb::Certificate *certificate =
      plan::findCertificate(index.plan(), quantity);
  if (!certificate)
    return 0;
  const bool isOfDevices = quantity == fb::Quantity::moved_bytes;
  const uint64_t kept =
      keptOfRoles(*certificate) +
      (isOfDevices ? keptOnDevices(*certificate) : keptOnNodes(*certificate));
  const uint64_t left = needed > kept ? (needed - kept) * lanes : 0;
  return isOfDevices ? left : boundWithRelays(plan, left, [&](uint32_t tensor) {
    return copiesOfTensor(tensor);
  });
}

void TotalsWriter::run() {
  const plan::Totals totals(index, copies);
  sections.summary = std::make_unique<fb::SummaryT>();
  fb::SummaryT &summary = *sections.summary;
  summary.moved_bytes = totals.moved * lanes;
  summary.kept_bytes = totals.kept * lanes;
  summary.zeroed_bytes = totals.zeroed * lanes;
  summary.derived_bytes = totals.derived * lanes;
  summary.internode_bytes = totals.internode * lanes;
  summary.transit_bytes = totals.transit * lanes;
  summary.max_send_bytes = totals.maxSend;
  summary.max_recv_bytes = totals.maxRecv;
  summary.bound_moved_bytes = prove(fb::Quantity::moved_bytes);
  summary.bound_internode_bytes = prove(fb::Quantity::internode_bytes);
  const fb::ConfigurationT &curr = *sections.curr;
  const uint64_t world = uint64_t{curr.pp} * curr.tp * curr.dp * curr.cp;
  summary.bound_bottleneck_bytes =
      (summary.bound_moved_bytes + world - 1) / world;
  for (const plan::Totals::Round &round : totals.rounds)
    sections.moved_bytes.push_back(round.moved * lanes);
}

void etc::stateTotals(fb::PlanT &plan, const fb::Plan &packed) {
  TotalsWriter(plan, packed).run();
}
