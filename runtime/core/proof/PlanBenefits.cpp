// What columns have of roles, by a plan's shards.

#include "core/proof/PlanBenefits.h"

#include <algorithm>
#include <functional>
#include <set>

using namespace etc;
using namespace etc::plan;
namespace fb = etc::plan::fb;

using Shards = std::vector<uint32_t>;

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

static Shards sorted(const flatbuffers::Vector<uint32_t> &list) {
  Shards shards(list.begin(), list.end());
  std::sort(shards.begin(), shards.end());
  return shards;
}

/// The pool of a role, with what its roles so far have in common.
void RoleShards::join(const fb::Role &role, uint64_t number) {
  const Shards &mine = own[number];
  auto [it, isNew] =
      pools.try_emplace({role.stage(), role.slot()}, shared.size());
  poolOf[number] = it->second;
  if (isNew) {
    shared.push_back(mine);
    return;
  }
  Shards common;
  std::set_intersection(shared[it->second].begin(), shared[it->second].end(),
                        mine.begin(), mine.end(), std::back_inserter(common));
  shared[it->second] = std::move(common);
}

RoleShards::RoleShards(const PlanIndex &index, Side side) {
  const bool isPrev = side == Side::Prev;
  const fb::Plan &plan = index.plan();
  const fb::Configuration &grid = isPrev ? *plan.prev() : *plan.curr();
  own.resize(roleCount(grid));
  // Roles that no program has hold nothing, in a pool of their own.
  poolOf.resize(own.size());
  shared.emplace_back();
  std::vector<bool> isKnown(own.size());
  for (const fb::Program *program : *plan.programs()) {
    const fb::Role *role = isPrev ? program->prev_role() : program->curr_role();
    auto number = role ? numberOfRole(grid, *role) : std::nullopt;
    if (!number || isKnown[*number])
      continue;
    isKnown[*number] = true;
    own[*number] =
        sorted(isPrev ? *program->prev_shards() : *program->curr_shards());
    join(*role, *number);
  }
  for (size_t role = 0; role != own.size(); ++role) {
    Shards rest;
    const Shards &common = shared[poolOf[role]];
    std::set_difference(own[role].begin(), own[role].end(), common.begin(),
                        common.end(), std::back_inserter(rest));
    own[role] = std::move(rest);
  }
}

//===----------------------------------------------------------------------===//
// Shards of one tensor
//===----------------------------------------------------------------------===//

namespace {

/// Who has shards of a previous tensor, or of its twins.
struct Holders {
  std::map<uint64_t, Shards> ofGroups, ofColumns;
};

class BenefitReader {
public:
  BenefitReader(const PlanIndex &index, const Columns &columns,
                PlanBenefits &benefits);
  void run();

private:
  void group(const Columns &columns);
  void listHolders(const Columns &columns);
  uint64_t overlap(uint32_t shard, const Shards &others) const;
  void add(uint32_t shard, std::map<uint64_t, uint64_t> &onColumns,
           const std::function<void(uint64_t, uint64_t)> &addToGroup);

  const PlanIndex &index;
  const RoleShards prev, curr;
  PlanBenefits &benefits;
  std::vector<Holders> holders;               ///< [tensor], of primaries
  std::vector<std::vector<uint64_t>> poolsOf; ///< [group] of previous pools
};

} // namespace

BenefitReader::BenefitReader(const PlanIndex &index, const Columns &columns,
                             PlanBenefits &benefits)
    : index(index), prev(index, Side::Prev), curr(index, Side::Curr),
      benefits(benefits) {
  group(columns);
  listHolders(columns);
  benefits.poolOf = curr.poolOf;
  benefits.groups = poolsOf.size();
  benefits.pools.assign(curr.shared.size(),
                        std::vector<uint64_t>(poolsOf.size()));
  benefits.poolsOnColumns.resize(curr.shared.size());
  benefits.rowsOnGroups.resize(curr.own.size());
  benefits.rowsOnColumns.resize(curr.own.size());
}

/// Columns that reach the same pools.
void BenefitReader::group(const Columns &columns) {
  std::map<std::set<uint64_t>, uint64_t> numbers;
  for (const std::vector<uint64_t> &roles : columns.roles) {
    std::set<uint64_t> pools;
    for (uint64_t role : roles)
      pools.insert(prev.poolOf[role]);
    auto [it, isNew] = numbers.try_emplace(pools, poolsOf.size());
    if (isNew)
      poolsOf.emplace_back(pools.begin(), pools.end());
    benefits.groupOf.push_back(it->second);
  }
}

void BenefitReader::listHolders(const Columns &columns) {
  holders.resize(index.plan().tensors()->size());
  auto tensorOf = [&](uint32_t shard) {
    return index.primary(index.plan().shards()->Get(shard)->tensor());
  };
  for (size_t group = 0; group != poolsOf.size(); ++group)
    for (uint64_t pool : poolsOf[group])
      for (uint32_t shard : prev.shared[pool])
        holders[tensorOf(shard)].ofGroups[group].push_back(shard);
  for (size_t column = 0; column != columns.roles.size(); ++column)
    for (uint64_t role : columns.roles[column])
      for (uint32_t shard : prev.own[role])
        holders[tensorOf(shard)].ofColumns[column].push_back(shard);
  // Slices of one tensor, as tensor-parallel ranks of a node have them, are
  // often the same one.
  for (Holders &ofTensor : holders)
    for (auto *lists : {&ofTensor.ofGroups, &ofTensor.ofColumns})
      for (auto &[key, shards] : *lists) {
        std::sort(shards.begin(), shards.end());
        shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
      }
}

/// Elements of a box that lie in at least one of the others.
static uint64_t volumeOfUnion(BoxView whole,
                              const std::vector<BoxView> &others) {
  // One that has all of it, or is the only one, is the usual case.
  const uint64_t first = sharedVolume(whole, others.front());
  if (others.size() == 1 || first == volume(whole))
    return first;
  std::vector<Box> rest{Box(whole)};
  for (const BoxView &other : others)
    rest = subtract(rest, other);
  uint64_t common = volume(whole);
  for (const Box &left : rest)
    common -= volume(left);
  return common;
}

/// Elements of a shard that lie in at least one of the others.
uint64_t BenefitReader::overlap(uint32_t shard, const Shards &others) const {
  uint64_t common = 0;
  std::vector<BoxView> parts;
  for (uint32_t box = 0; box != index.boxCount(shard); ++box) {
    const BoxView whole = index.shardBox(shard, box);
    parts.clear();
    for (uint32_t other : others)
      for (uint32_t b = 0; b != index.boxCount(other); ++b)
        if (const BoxView part = index.shardBox(other, b);
            intersects(whole, part))
          parts.push_back(part);
    if (!parts.empty())
      common += volumeOfUnion(whole, parts);
  }
  return common;
}

/// Adds what groups and columns have of a shard. What a column's own roles have
/// counts where its group has not.
void BenefitReader::add(
    uint32_t shard, std::map<uint64_t, uint64_t> &onColumns,
    const std::function<void(uint64_t, uint64_t)> &addToGroup) {
  const uint32_t tensor = index.plan().shards()->Get(shard)->tensor();
  if (index.tensor(tensor).is_derived())
    return;
  const Holders &source = holders[index.primary(tensor)];
  const uint64_t bytes = index.elementBytes(tensor);
  std::map<uint64_t, uint64_t> ofGroups;
  for (const auto &[group, shards] : source.ofGroups)
    if (uint64_t common = overlap(shard, shards)) {
      ofGroups[group] = common;
      addToGroup(group, common * bytes);
    }
  for (const auto &[column, shards] : source.ofColumns) {
    const uint64_t group = benefits.groupOf[column];
    auto shared = source.ofGroups.find(group);
    Shards all = shards;
    if (shared != source.ofGroups.end())
      all.insert(all.end(), shared->second.begin(), shared->second.end());
    auto counted = ofGroups.find(group);
    const uint64_t before = counted == ofGroups.end() ? 0 : counted->second;
    if (uint64_t more = overlap(shard, all) - before)
      onColumns[column] += more * bytes;
  }
}

void BenefitReader::run() {
  for (size_t pool = 0; pool != curr.shared.size(); ++pool)
    for (uint32_t shard : curr.shared[pool])
      add(shard, benefits.poolsOnColumns[pool],
          [&](uint64_t group, uint64_t bytes) {
            benefits.pools[pool][group] += bytes;
          });
  for (size_t row = 0; row != curr.own.size(); ++row)
    for (uint32_t shard : curr.own[row])
      add(shard, benefits.rowsOnColumns[row],
          [&](uint64_t group, uint64_t bytes) {
            benefits.rowsOnGroups[row][group] += bytes;
          });
}

//===----------------------------------------------------------------------===//
// Benefits
//===----------------------------------------------------------------------===//

PlanBenefits::PlanBenefits(const PlanIndex &index, const Columns &columns) {
  BenefitReader(index, columns, *this).run();
}

static uint64_t find(const std::map<uint64_t, uint64_t> &sparse, uint64_t key) {
  auto it = sparse.find(key);
  return it == sparse.end() ? 0 : it->second;
}

uint64_t PlanBenefits::of(uint64_t row, uint64_t column) const {
  const uint64_t pool = poolOf[row], group = groupOf[column];
  return pools[pool][group] + find(poolsOnColumns[pool], column) +
         find(rowsOnGroups[row], group) + find(rowsOnColumns[row], column);
}
