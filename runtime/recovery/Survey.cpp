#include "recovery/Survey.h"

#include "recovery/Making.h"

#include <algorithm>
#include <functional>
#include <set>

using namespace etc;
using namespace etc::runtime;

static const Claim *findClaim(const RecoveryMember &member, uint64_t plan) {
  for (const Claim &claim : member.claims)
    if (claim.plan == plan)
      return &claim;
  return nullptr;
}

Result<uint64_t>
etc::runtime::findCommonPlan(const std::vector<RecoveryMember> &members) {
  const RecoveryMember *first = nullptr;
  for (const RecoveryMember &member : members)
    if (!first && !member.holdsNothing())
      first = &member;
  if (!first)
    return Status(ErrorKind::Usage, "no member holds state");
  for (const Claim &claim : first->claims)
    if (std::all_of(
            members.begin(), members.end(), [&](const RecoveryMember &member) {
              return member.holdsNothing() || findClaim(member, claim.plan);
            }))
      return claim.plan;
  return Status(ErrorKind::Usage,
                "the members are not at one plan: some of them hold state of "
                "an earlier or a later change");
}

namespace {

class Surveyor {
public:
  Surveyor(const PlanIndex &index, uint64_t plan,
           const std::vector<RecoveryMember> &members,
           std::optional<VersionedCheckpoint> checkpoint)
      : index(index), plan(plan), members(members), checkpoint(checkpoint) {}

  Result<Survey> take() {
    Status newest = Status::success();
    for (int64_t version : versions()) {
      Result<Survey> found = takeOf(version);
      if (found)
        return found;
      if (newest.ok())
        newest = found.status();
    }
    return newest.ok() ? Status(ErrorKind::Usage, "no member holds state")
                       : newest;
  }

private:
  std::set<int64_t, std::greater<>> versions() const {
    std::set<int64_t, std::greater<>> all;
    for (const RecoveryMember &member : members)
      if (!member.holdsNothing())
        all.insert(member.version);
    if (checkpoint)
      all.insert(checkpoint->version);
    return all;
  }

  Result<Survey> takeOf(int64_t version) const {
    Survey found;
    found.version = version;
    found.survivors.resize(index.rankCount());
    bool isNew = true, isAny = false;
    for (const RecoveryMember &member : members) {
      const Claim *claim = findClaim(member, plan);
      const std::optional<uint32_t> rank = index.rankOf(member.device);
      if (!claim || !rank)
        continue;
      if (member.version != version) {
        found.dropped.push_back(member.device);
        continue;
      }
      found.survivors[*rank] = claim->standing;
      isNew &= claim->standing.isCommitted || claim->standing.isDecided;
      isAny = true;
    }
    found.side = isAny && isNew ? Side::Curr : Side::Prev;
    found.inventory = takeInventory(index, found.survivors);
    if (Status s = complete(found); !s.ok())
      return s;
    return found;
  }

  Status complete(Survey &found) const {
    const std::vector<TensorBox> missing = makeFromOthers(found);
    if (!checkpoint || checkpoint->version != found.version)
      return nameLost(missing, found.version);
    for (const TensorBox &box : missing)
      if (Status s = checkpoint->checkpoint->check(index, box.tensor, box.box);
          !s.ok())
        return s;
    // Devices whose own state is dropped have room for some of it. One that
    // came in a dead one's place knows no survey, and reads nothing.
    if (!missing.empty())
      for (const RecoveryMember &member : members)
        if (auto rank = index.rankOf(member.device);
            rank && findClaim(member, plan) && !found.inventory[*rank])
          found.inventory[*rank].emplace();
    share(index, missing, found.inventory);
    found.restored = missing;
    return Status::success();
  }

  /// Who holds a tied copy of a box that nobody holds under its own name, or
  /// what it is cast from, can make it: it counts as its holder. Returns the
  /// boxes that nobody can make.
  std::vector<TensorBox> makeFromOthers(Survey &found) const {
    std::vector<TensorBox> unheld =
        findUnheld(index, found.survivors, found.side);
    for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
      if (found.survivors[rank] && !unheld.empty())
        unheld = makeOn(heldShards(index, index.participant(rank).program,
                                   *found.survivors[rank]),
                        unheld, *found.inventory[rank]);
    return unheld;
  }

  /// Adds what a device can make to what it holds, and returns the rest.
  std::vector<TensorBox> makeOn(const std::vector<HeldShard> &own,
                                const std::vector<TensorBox> &unheld,
                                Held &held) const {
    std::vector<TensorBox> rest;
    for (const TensorBox &wanted : unheld) {
      std::vector<Box> missing{wanted.box};
      for (const HeldShard &shard : own)
        if (findMaking(index, shard.tensor, wanted.tensor))
          for (const Box &part : shard.boxes) {
            for (const Box &box : missing)
              if (std::optional<Box> common = intersect(box, part))
                held[wanted.tensor].push_back(*common);
            missing = subtract(missing, part);
          }
      for (const Box &box : missing)
        rest.push_back({wanted.tensor, box});
    }
    return rest;
  }

  Status nameLost(const std::vector<TensorBox> &lost, int64_t version) const {
    if (lost.empty())
      return Status::success();
    uint64_t bytes = 0;
    for (const TensorBox &box : lost)
      bytes += volume(box.box) * index.elementBytes(box.tensor);
    return Status(
        ErrorKind::Usage,
        text("nobody holds ", index.describeTensor(lost[0].tensor),
             describe(lost[0].box), " of step ", version,
             lost.size() > 1 ? text(" and ", lost.size() - 1, " more boxes")
                             : "",
             ", ", bytes, " bytes; a checkpoint of that step can have them"));
  }

  const PlanIndex &index;
  const uint64_t plan;
  const std::vector<RecoveryMember> &members;
  const std::optional<VersionedCheckpoint> checkpoint;
};

} // namespace

Result<Survey>
etc::runtime::survey(const PlanIndex &index, uint64_t plan,
                     const std::vector<RecoveryMember> &members,
                     std::optional<VersionedCheckpoint> checkpoint) {
  return Surveyor(index, plan, members, checkpoint).take();
}
