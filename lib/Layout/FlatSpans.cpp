//===- FlatSpans.cpp - What the distributed optimizer gives a rank --------===//

#include "etc/Layout/FlatBuffers.h"

#include <algorithm>
#include <numeric>

using namespace etc;
using namespace etc::layout;
using model::TensorTemplate;
using request::Parallelism;

/// Where a tensor may start, and a bucket end besides: Megatron aligns for
/// loads and for NCCL's bandwidth.
static constexpr int64_t startAlignment = 64, endAlignment = 128;

static int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void Buffer::append(size_t tensor, int64_t elements, bool alone) {
  next = roundUp(next, startAlignment);
  if (alone)
    closeBucket();
  places.push_back({tensor, {next, next + elements}});
  next += elements;
  if (alone || (bucketSize && next - bucketBegin >= bucketSize))
    closeBucket();
}

void Buffer::closeBucket() {
  if (firstPlace == places.size())
    return;
  next = roundUp(next, std::lcm(ranks, endAlignment));
  buckets.push_back({{bucketBegin, next}, firstPlace, places.size()});
  firstPlace = places.size();
  bucketBegin = next;
}

void Buffer::findParts(int64_t rank,
                       std::vector<std::pair<size_t, Span>> &parts) const {
  for (const Bucket &bucket : buckets) {
    const int64_t share = bucket.at.size() / ranks;
    const Span own =
        Span{rank * share, (rank + 1) * share}.shifted(bucket.at.begin);
    const auto end = places.begin() + bucket.end;
    auto place = std::partition_point(
        places.begin() + bucket.begin, end,
        [&](const Place &it) { return it.at.end <= own.begin; });
    for (; place != end && place->at.begin < own.end; ++place)
      if (const Span held = intersect(place->at, own); !held.empty())
        parts.emplace_back(place->tensor, held.shifted(-place->at.begin));
  }
}

/// Whether the tensor is one of several copies of the embedding. Where a stage
/// embeds further tokens, its output layer is not counted among these.
static bool isTiedCopy(const model::Model &model, const Parallelism &parallel,
                       const TensorTemplate &tensor) {
  if (parallel.pp == 1 || tensor.isOfLayer())
    return false;
  bool predictsMore = llvm::any_of(model.tensors, [&](const auto &other) {
    return other.block == model::Block::Mtp && !other.tiedTo.empty() &&
           existsOn(other, parallel);
  });
  if (!tensor.tiedTo.empty())
    return tensor.block != model::Block::Head || !predictsMore;
  return llvm::any_of(model.tensors, [&](const TensorTemplate &other) {
    return other.tiedTo == tensor.name;
  });
}

/// Only the reduction of the first chunk of all is worth to be overlapped.
static int64_t bucketSizeOf(const Parallelism &parallel, int64_t p, int64_t k) {
  return p == 0 && k == 0 ? parallel.bucketElements() : 0;
}

FlatBuffers::FlatBuffers(const model::Model &model, const Parallelism &parallel,
                         int64_t p, int64_t t, int64_t k)
    : t(t), slots(parallel.slots()), denseRanks(parallel.tp),
      expertRanks(parallel.expertTp() * parallel.ep),
      dense(parallel.dp * parallel.cp, bucketSizeOf(parallel, p, k)),
      experts(parallel.expertDp(), bucketSizeOf(parallel, p, k)) {
  for (const Instance &instance : instancesOf(model, parallel, p, k, t))
    if (model.tensors[instance.tensor].flat)
      instances.push_back(instance);
  // Templates of one parameter in other types follow each other, and share its
  // place.
  auto isSameParameter = [&](const Instance &a, const Instance &b) {
    return a.layer == b.layer && a.expert == b.expert &&
           model.tensors[a.tensor].name == model.tensors[b.tensor].name;
  };
  others.resize(instances.size());
  for (size_t n = instances.size(); n-- > 0;) {
    if (n > 0 && isSameParameter(instances[n], instances[n - 1])) {
      others[n - 1] = others[n] + 1;
      continue;
    }
    const TensorTemplate &tensor = model.tensors[instances[n].tensor];
    // Without expert parallelism, experts are like any other parameters.
    bool apart = tensor.ofExpert && parallel.ep > 1;
    (apart ? experts : dense)
        .append(n, volume(boxOf(tensor, parallel, t)),
                isTiedCopy(model, parallel, tensor));
  }
  dense.finish();
  experts.finish();
}

std::vector<std::pair<size_t, Span>> FlatBuffers::findParts(int64_t d) const {
  const int64_t i = t + slots * d;
  std::vector<std::pair<size_t, Span>> parts;
  dense.findParts(i / denseRanks, parts);
  experts.findParts(i / expertRanks, parts);
  for (size_t n = 0, count = parts.size(); n != count; ++n)
    for (size_t other = 1; other <= others[parts[n].first]; ++other)
      parts.emplace_back(parts[n].first + other, parts[n].second);
  std::sort(parts.begin(), parts.end());
  return parts;
}

std::vector<FlatSpan> etc::layout::flatSpans(const model::Model &model,
                                             const Parallelism &parallel,
                                             Role role, int64_t k) {
  const FlatBuffers buffers(model, parallel, role.p, role.t, k);
  std::vector<FlatSpan> spans;
  for (const Instance &instance : buffers.getInstances())
    spans.push_back({instance, {}});
  for (const auto &[number, part] : buffers.findParts(role.d))
    spans[number].span = part;
  return spans;
}
