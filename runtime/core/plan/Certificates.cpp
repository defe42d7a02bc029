#include "core/plan/Certificates.h"

#include "core/plan/Configuration.h"

#include <algorithm>
#include <map>
#include <set>

using namespace etc::plan;

const fb::Certificate *etc::plan::findCertificate(const fb::Plan &plan,
                                                  fb::Quantity quantity) {
  if (plan.certificates())
    for (const fb::Certificate *certificate : *plan.certificates())
      if (certificate->quantity() == quantity)
        return certificate;
  return nullptr;
}

Exceptions etc::plan::exceptionsOf(const fb::Plan &plan) {
  Exceptions exceptions;
  if (plan.certificates())
    for (const fb::Certificate *certificate : *plan.certificates()) {
      exceptions.relays |= !certificate->covers_relays();
      exceptions.twins |= !certificate->covers_twins();
      exceptions.recomputation |= !certificate->covers_recomputation();
    }
  return exceptions;
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Of the devices [first, last).
static uint64_t countBarred(const fb::Plan &plan, uint64_t first,
                            uint64_t last) {
  const auto *barred = plan.barred();
  if (!barred)
    return 0;
  return std::lower_bound(barred->begin(), barred->end(), last) -
         std::lower_bound(barred->begin(), barred->end(), first);
}

Columns etc::plan::columnsOfDevices(const PlanIndex &index) {
  const fb::Plan &plan = index.plan();
  Columns columns;
  for (uint64_t role = 0; role != roleCount(*plan.prev()); ++role)
    columns.roles.push_back({role});
  columns.devices.resize(columns.roles.size());
  for (const fb::Program *program : *plan.programs())
    if (program->prev_role())
      if (auto role = numberOfRole(*plan.prev(), *program->prev_role()))
        for (uint32_t device : *program->devices())
          columns.devices[*role] +=
              1 - countBarred(plan, device, uint64_t{device} + 1);
  return columns;
}

/// The previous roles of the devices of every node.
static std::vector<std::set<uint64_t>> rolesOnNodes(const PlanIndex &index) {
  const fb::Plan &plan = index.plan();
  std::vector<std::set<uint64_t>> roles(plan.nodes()->size());
  for (const fb::Program *program : *plan.programs())
    if (program->prev_role())
      if (auto role = numberOfRole(*plan.prev(), *program->prev_role()))
        for (uint32_t device : *program->devices())
          roles[index.nodeOf(device)].insert(*role);
  return roles;
}

Columns etc::plan::columnsOfNodes(const PlanIndex &index) {
  const fb::Plan &plan = index.plan();
  std::map<std::set<uint64_t>, size_t> numbers;
  const std::vector<std::set<uint64_t>> roles = rolesOnNodes(index);
  Columns columns;
  uint64_t first = 0; // device of the node
  for (uint32_t node = 0; node != roles.size(); ++node) {
    auto [it, isNew] = numbers.try_emplace(roles[node], columns.roles.size());
    if (isNew) {
      columns.roles.emplace_back(roles[node].begin(), roles[node].end());
      columns.devices.push_back(0);
    }
    const uint64_t last = first + plan.nodes()->Get(node);
    columns.devices[it->second] +=
        last - first - countBarred(plan, first, last);
    first = last;
  }
  return columns;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

uint64_t etc::plan::neededBytes(const PlanIndex &index,
                                std::span<const uint64_t> copies) {
  uint64_t bytes = 0;
  for (const fb::Program *program : *index.plan().programs()) {
    uint64_t ofDevice = 0;
    for (const fb::Round *round : *program->rounds())
      for (const fb::Op *op : *round->ops())
        if ((op->kind() == fb::OpKind::recv ||
             op->kind() == fb::OpKind::refer) &&
            !op->transit() && !index.tensor(op->tensor()).is_derived())
          ofDevice = addBytes(ofDevice, index.opBytes(*op));
    uint64_t devices = copies.empty() ? program->devices()->size() : 0;
    if (!copies.empty())
      for (uint32_t device : *program->devices())
        devices += copies[*index.rankOf(device)];
    bytes = addBytes(bytes, mulBytes(ofDevice, devices));
  }
  return bytes;
}

uint64_t etc::plan::keptAtMost(const fb::Plan &plan,
                               const fb::Certificate &certificate,
                               const Columns &columns) {
  uint64_t kept = 0;
  for (uint64_t dual : *certificate.row_duals())
    kept = addBytes(kept, mulBytes(dual, replicasOfRole(*plan.curr())));
  for (uint32_t column = 0; column != columns.devices.size(); ++column)
    kept = addBytes(kept, mulBytes(certificate.column_duals()->Get(column),
                                   columns.devices[column]));
  return kept;
}
