#include "state/source/StoredState.h"

#include "state/checkpoint/WriteState.h"
#include "state/synthetic/StateCheck.h"

#include <algorithm>
#include <set>

using namespace etc;
using namespace etc::runtime;

Result<uint64_t> StoredState::read(const PlanIndex &index, uint32_t device,
                                   uint32_t tensor, Region region) const {
  const uint32_t source = checkpoint.resolve(index, tensor).value_or(tensor);
  const Box stored = boxOfShape(previousShape(index, source));
  for (const Box &padding : subtract(region.box, stored))
    zeroBox(region, padding, index.elementBytes(tensor));
  const std::optional<Box> part = intersect(region.box, stored);
  return part ? checkpoint.read(index, source, region, *part, device)
              : Result<uint64_t>(uint64_t{0});
}

/// A plan may cast where the files have something else.
static Status explainDerived(const PlanIndex &index, uint32_t tensor,
                             const Status &status) {
  const auto &facts = index.tensor(tensor);
  if (facts.derived_from() < 0)
    return status;
  const auto &source =
      index.tensor(static_cast<uint32_t>(facts.derived_from()));
  return Status(status.kind(),
                text(status.message(),
                     "; plan with etc-opt --derive=none, "
                     "which moves (",
                     facts.type()->string_view(),
                     ") too: the files do not have it as the cast of (",
                     source.type()->string_view(), ")"));
}

Status StoredState::check(const PlanIndex &index, uint32_t device,
                          uint32_t tensor, ConstRegion region) const {
  const unsigned size = index.elementBytes(tensor);
  std::vector<std::byte> expected;
  const std::byte *actual = region.data;
  return forEachSlab(region.box, kSlabBytes / size, [&](BoxView slab) {
    expected.resize(volume(slab) * size);
    Result<uint64_t> bytes =
        read(index, device, tensor, {expected.data(), slab});
    if (!bytes)
      return bytes.status();
    const Status status =
        compareElements(index, tensor, slab, expected.data(), actual);
    actual += expected.size();
    return status.ok() ? status : explainDerived(index, tensor, status);
  });
}

Status
StoredState::describeMissing(const PlanIndex &index,
                             const std::vector<uint32_t> &missing) const {
  constexpr size_t most = 3;
  std::string names;
  for (size_t i = 0; i != std::min(most, missing.size()); ++i)
    names += (i ? ", " : "") + index.describeTensor(missing[i]);
  if (missing.size() > most)
    names += text(" and ", missing.size() - most, " more");
  return Status(ErrorKind::Usage,
                text(checkpoint.directory(), ": has no ", names,
                     "; plan with the types that are there (etc-opt --types=",
                     checkpoint.describeTypes(),
                     ") and a model whose tensors have the checkpoint's "
                     "names"));
}

Status StoredState::checkSide(const PlanIndex &index,
                              std::span<const uint32_t> ranks,
                              Side side) const {
  std::set<uint32_t> missing;
  for (uint32_t rank : ranks)
    for (const auto &[tensor, shard] :
         index.holdings(index.participant(rank).program, side))
      if (!checkpoint.resolve(index, tensor))
        missing.insert(tensor);
  if (!missing.empty())
    return describeMissing(index, {missing.begin(), missing.end()});
  for (uint32_t rank : ranks)
    for (const auto &[tensor, shard] :
         index.holdings(index.participant(rank).program, side)) {
      const uint32_t source = *checkpoint.resolve(index, tensor);
      const Box stored = boxOfShape(previousShape(index, source));
      for (uint32_t b = 0; b != index.boxCount(shard); ++b)
        if (auto part = intersect(index.shardBox(shard, b), stored))
          if (Status s =
                  checkpoint.check(index, source, *part, index.device(rank));
              !s.ok())
            return s;
    }
  return Status::success();
}
