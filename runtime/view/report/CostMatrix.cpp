#include "view/report/CostMatrix.h"

#include <algorithm>
#include <map>
#include <span>

using namespace etc;
using namespace etc::runtime;
using etc::plan::Holding;
using etc::plan::PlanIndex;
using etc::plan::Side;

/// As many fields as a picture can show.
constexpr size_t kMostFields = 1 << 16;
/// As many pairs of roles as are compared.
constexpr size_t kMostPairs = 1 << 20;

namespace {

/// Roles that are one row or column.
struct Groups {
  std::vector<std::string> names;
  std::vector<uint32_t> ofRole;
  std::vector<uint32_t> sizes;
};

Groups groupRoles(const std::vector<Role> &roles, bool byStage) {
  Groups groups;
  std::map<std::string, uint32_t> numbers;
  for (const Role &role : roles) {
    std::string name = byStage ? "P" + std::to_string(role.stage) : role.name;
    auto [it, isNew] = numbers.try_emplace(name, groups.names.size());
    if (isNew) {
      groups.names.push_back(name);
      groups.sizes.push_back(0);
    }
    groups.ofRole.push_back(it->second);
    ++groups.sizes[it->second];
  }
  return groups;
}

class Costs {
public:
  Costs(const PlanIndex &index, const RoleTable &prev, const RoleTable &curr)
      : index(index), curr(curr), derived(index.plan().tensors()->size()),
        holders(derived.size()) {
    for (uint32_t p = 0; p != index.programCount(); ++p)
      for (const auto *round : *index.program(p).rounds())
        for (const auto *op : *round->ops())
          if (op->kind() == etc::plan::fb::OpKind::derive)
            derived[op->tensor()] = true;
    for (uint32_t role = 0; role != prev.roles.size(); ++role)
      for (Holding h : index.holdings(prev.roles[role].program, Side::Prev))
        holders[index.primary(h.tensor)].push_back({role, h.shard});
  }

  /// What every previous role lacks of a current one.
  std::vector<uint64_t> row(uint32_t role, size_t columns) const {
    uint64_t bytes = 0;
    std::vector<uint64_t> shared(columns);
    for (Holding h : index.holdings(curr.roles[role].program, Side::Curr)) {
      if (derived[h.tensor])
        continue;
      bytes += index.shardBytes(h.shard);
      const auto &all = holders[index.primary(h.tensor)];
      for (size_t first = 0, last = 0; first != all.size(); first = last) {
        while (last != all.size() && all[last].role == all[first].role)
          ++last;
        shared[all[first].role] +=
            commonBytes(h.shard, std::span(all).subspan(first, last - first));
      }
    }
    for (uint64_t &common : shared)
      common = bytes - common;
    return shared;
  }

private:
  struct Holder {
    uint32_t role, shard;
  };

  /// Bytes of a shard that a role holds, of its tensor or of twins of it.
  uint64_t commonBytes(uint32_t shard, std::span<const Holder> held) const {
    uint64_t elements = 0;
    for (uint32_t i = 0; i != index.boxCount(shard); ++i) {
      const BoxView whole = index.shardBox(shard, i);
      std::vector<Box> rest = {Box(whole)};
      for (const Holder &holder : held)
        for (uint32_t j = 0; j != index.boxCount(holder.shard); ++j)
          rest = subtract(rest, index.shardBox(holder.shard, j));
      elements += volume(whole);
      for (const Box &left : rest)
        elements -= volume(left);
    }
    return elements *
           index.elementBytes(index.plan().shards()->Get(shard)->tensor());
  }

  const PlanIndex &index;
  const RoleTable &curr;
  std::vector<bool> derived;
  std::vector<std::vector<Holder>> holders; // by primary tensor
};

void addPairs(const PlanIndex &index, const RoleTable &prev,
              const RoleTable &curr, const Groups &rows, const Groups &columns,
              CostMatrix &matrix) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> devices;
  for (uint32_t p = 0; p != index.programCount(); ++p)
    if (prev.ofProgram[p] >= 0 && curr.ofProgram[p] >= 0)
      devices[{rows.ofRole[curr.ofProgram[p]],
               columns.ofRole[prev.ofProgram[p]]}] +=
          index.program(p).devices()->size();
  for (auto [place, count] : devices)
    matrix.pairs.push_back({place.first, place.second, count});
}

} // namespace

CostMatrix etc::runtime::costMatrixOf(const PlanIndex &index,
                                      const RoleTable &prev,
                                      const RoleTable &curr) {
  const size_t pairs = prev.roles.size() * curr.roles.size();
  CostMatrix matrix;
  if (pairs > kMostPairs)
    return matrix;
  const Groups rows = groupRoles(curr.roles, pairs > kMostFields);
  const Groups columns = groupRoles(prev.roles, pairs > kMostFields);
  matrix.rows = rows.names;
  matrix.columns = columns.names;
  matrix.costs.assign(rows.names.size(),
                      std::vector<uint64_t>(columns.names.size()));
  const Costs costs(index, prev, curr);
  for (uint32_t i = 0; i != curr.roles.size(); ++i) {
    std::vector<uint64_t> least(columns.names.size(), UINT64_MAX);
    const auto row = costs.row(i, prev.roles.size());
    for (uint32_t j = 0; j != row.size(); ++j)
      least[columns.ofRole[j]] = std::min(least[columns.ofRole[j]], row[j]);
    for (uint32_t j = 0; j != least.size(); ++j)
      matrix.costs[rows.ofRole[i]][j] += least[j] / rows.sizes[rows.ofRole[i]];
  }
  addPairs(index, prev, curr, rows, columns, matrix);
  return matrix;
}
