//===- FlatSpans.cpp - What the distributed optimizer gives a rank --------===//

#include "etc/Layout/Layout.h"

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

namespace {
/// A buffer as one of its ranks sees it.
class Buffer {
public:
  /// `bucketSize` elements close a bucket, unless it is 0.
  Buffer(int64_t ranks, int64_t rank, int64_t bucketSize)
      : ranks(ranks), rank(rank), bucketSize(bucketSize) {}

  /// Appends a tensor of so many elements; `alone` gives it its own bucket.
  void append(FlatSpan &flat, int64_t elements, bool alone);
  /// Closes the last bucket.
  void finish() { closeBucket(); }

private:
  struct Entry {
    FlatSpan *flat;
    Span at; ///< in the buffer
  };

  void closeBucket();

  int64_t ranks, rank, bucketSize;
  int64_t bucketBegin = 0, next = 0;
  std::vector<Entry> bucket;
};
} // namespace

void Buffer::append(FlatSpan &flat, int64_t elements, bool alone) {
  next = roundUp(next, startAlignment);
  if (alone && !bucket.empty())
    closeBucket();
  bucket.push_back({&flat, {next, next + elements}});
  next += elements;
  if (alone || (bucketSize && next - bucketBegin >= bucketSize))
    closeBucket();
}

void Buffer::closeBucket() {
  if (bucket.empty())
    return;
  next = roundUp(next, std::lcm(ranks, endAlignment));
  int64_t share = (next - bucketBegin) / ranks;
  Span own = {bucketBegin + rank * share, bucketBegin + (rank + 1) * share};
  for (Entry &entry : bucket) {
    Span held = intersect(entry.at, own);
    if (!held.empty())
      entry.flat->span = held.shifted(-entry.at.begin);
  }
  bucket.clear();
  bucketBegin = next;
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

std::vector<FlatSpan> etc::layout::flatSpans(const model::Model &model,
                                             const Parallelism &parallel,
                                             Role role, int64_t k) {
  int64_t i = role.t + parallel.slots() * role.d;
  int64_t expertRanks = parallel.expertTp() * parallel.ep;
  // Only the reduction of the first chunk of all is worth to be overlapped.
  int64_t bucketSize = role.p == 0 && k == 0 ? parallel.bucketElements() : 0;
  Buffer dense(parallel.dp * parallel.cp, i / parallel.tp, bucketSize);
  Buffer experts(parallel.expertDp(), i / expertRanks, bucketSize);
  std::vector<FlatSpan> spans;
  for (const Instance &instance :
       instancesOf(model, parallel, role.p, k, role.t))
    if (model.tensors[instance.tensor].flat)
      spans.push_back({instance, {}});
  // Templates of one parameter in other types follow each other, and share its
  // place.
  auto isSameParameter = [&](const Instance &a, const Instance &b) {
    return a.layer == b.layer && a.expert == b.expert &&
           model.tensors[a.tensor].name == model.tensors[b.tensor].name;
  };
  for (size_t n = spans.size(); n-- > 0;) {
    FlatSpan &flat = spans[n];
    if (n > 0 && isSameParameter(flat.instance, spans[n - 1].instance))
      continue;
    const TensorTemplate &tensor = model.tensors[flat.instance.tensor];
    // Without expert parallelism, experts are like any other parameters.
    bool apart = tensor.ofExpert && parallel.ep > 1;
    (apart ? experts : dense)
        .append(flat, volume(boxOf(tensor, parallel, role.t)),
                isTiedCopy(model, parallel, tensor));
  }
  dense.finish();
  experts.finish();
  for (size_t n = 1; n < spans.size(); ++n)
    if (isSameParameter(spans[n].instance, spans[n - 1].instance))
      spans[n].span = spans[n - 1].span;
  return spans;
}
