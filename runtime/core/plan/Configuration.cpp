#include "core/plan/Configuration.h"

#include "core/plan/TensorSize.h"

#include <numeric>

using namespace etc::plan;

uint64_t etc::plan::worldOf(const fb::Configuration &c) {
  if (c.inventory())
    return c.dp();
  return mulBytes(mulBytes(c.pp(), c.tp()), mulBytes(c.dp(), c.cp()));
}

/// The sizes, those of 1 left out but for the first.
static std::string describeSizes(const fb::Configuration &c) {
  std::string text = "PP" + std::to_string(c.pp());
  auto append = [&](const char *name, uint32_t size, uint32_t usual) {
    if (size != usual)
      text += name + std::to_string(size);
  };
  append("TP", c.tp(), 1);
  if (c.fsdp() == 1)
    append("DP", c.dp(), 1);
  else if (c.fsdp() == c.dp())
    append("FSDP", c.fsdp(), 1);
  else
    text += "HSDP" + std::to_string(c.dp() / c.fsdp()) + "x" +
            std::to_string(c.fsdp());
  append("CP", c.cp(), 1);
  append("EP", c.ep(), 1);
  append("ETP", c.etp(), c.tp());
  append("VPP", c.vpp(), 1);
  return text;
}

std::string etc::plan::describe(const fb::Configuration &c) {
  if (c.inventory())
    return "DP" + std::to_string(c.dp()) + " inventory";
  std::string text = describeSizes(c);
  if (c.zero1())
    text += "+zero1";
  if (c.bucket_elements())
    text += "+buckets=" + std::to_string(c.bucket_elements());
  const char *before = "+stages=";
  for (uint32_t i = 0; c.stages() && i != c.stages()->size(); ++i) {
    text += before + std::to_string(c.stages()->Get(i));
    before = ":";
  }
  if (c.order() == fb::RankOrder::tp_cp_ep_pp_dp)
    text += "+order=pp-dp";
  if (c.mtp_stage() >= 0)
    text += "+mtp=" + std::to_string(c.mtp_stage());
  return text;
}

std::string etc::plan::describe(const fb::Role *role) {
  if (!role)
    return "none";
  std::string text =
      "P" + std::to_string(role->stage()) + "T" + std::to_string(role->slot());
  return role->replica() < 0 ? text
                             : text + "D" + std::to_string(role->replica());
}

std::string etc::plan::describeRoles(const fb::Program &program) {
  return describe(program.curr_role()) + " <- " + describe(program.prev_role());
}

/// The ranks of a stage that hold different parts of it.
static uint64_t slotsOf(const fb::Configuration &c) {
  const uint64_t ofExperts = mulBytes(c.etp(), c.ep());
  return mulBytes(c.tp() / std::gcd<uint64_t>(c.tp(), ofExperts), ofExperts);
}

static uint64_t replicasOfSlot(const fb::Configuration &c) {
  return worldOf(c) / c.pp() / slotsOf(c);
}

/// Whether replicas hold state of their own.
static bool hasRanges(const fb::Configuration &c) {
  return c.zero1() || c.inventory() || c.fsdp() > 1;
}

uint64_t etc::plan::roleCount(const fb::Configuration &c) {
  const uint64_t pools = mulBytes(c.pp(), slotsOf(c));
  return hasRanges(c) ? mulBytes(pools, replicasOfSlot(c)) : pools;
}

uint64_t etc::plan::rolesOfSlot(const fb::Configuration &c) {
  return hasRanges(c) ? replicasOfSlot(c) : 1;
}

uint64_t etc::plan::replicasOfRole(const fb::Configuration &c) {
  return hasRanges(c) ? 1 : replicasOfSlot(c);
}

std::optional<uint64_t> etc::plan::numberOfRole(const fb::Configuration &c,
                                                const fb::Role &role) {
  const uint64_t slots = slotsOf(c), replicas = replicasOfSlot(c);
  if (role.stage() >= c.pp() || role.slot() >= slots ||
      hasRanges(c) != (role.replica() >= 0) ||
      role.replica() >= static_cast<int64_t>(replicas))
    return std::nullopt;
  const uint64_t pool = role.stage() * slots + role.slot();
  return hasRanges(c) ? pool * replicas + role.replica() : pool;
}

std::optional<Coordinates> etc::plan::coordinatesOf(const fb::Configuration &c,
                                                    uint32_t rank) {
  if (c.inventory())
    return std::nullopt;
  auto take = [&](uint32_t size) {
    uint32_t coordinate = rank % size;
    rank /= size;
    return coordinate;
  };
  // The first varies fastest.
  Coordinates place{};
  place.tp = take(c.tp());
  place.cp = take(c.cp());
  bool isPipelineFirst = c.order() == fb::RankOrder::tp_cp_ep_pp_dp;
  (isPipelineFirst ? place.pp : place.dp) =
      take(isPipelineFirst ? c.pp() : c.dp());
  (isPipelineFirst ? place.dp : place.pp) = rank;
  return place;
}

uint64_t etc::plan::roleOfRank(const fb::Configuration &c, uint32_t rank) {
  const std::optional<Coordinates> at = coordinatesOf(c, rank);
  if (!at)
    return rank;
  const uint64_t slots = slotsOf(c), replicas = replicasOfSlot(c),
                 inStage =
                     at->tp + c.tp() * (at->cp + uint64_t{c.cp()} * at->dp),
                 pool = at->pp * slots + inStage % slots;
  return hasRanges(c) ? pool * replicas + inStage / slots : pool;
}
