//===- FlatBuffers.h - The buffers of the distributed optimizer -*- C++ -*-===//

#ifndef ETC_LAYOUT_FLATBUFFERS_H
#define ETC_LAYOUT_FLATBUFFERS_H

#include "etc/Layout/Layout.h"

namespace etc::layout {

/// A buffer that its ranks share, an equal part of every bucket each.
class Buffer {
public:
  /// `bucketSize` elements close a bucket, unless it is 0.
  Buffer(int64_t ranks, int64_t bucketSize)
      : ranks(ranks), bucketSize(bucketSize) {}

  /// Appends a tensor of so many elements; `alone` gives it its own bucket.
  void append(size_t tensor, int64_t elements, bool alone);
  /// Closes the last bucket.
  void finish() { closeBucket(); }
  /// Appends the tensors that a rank has a part of, and the parts, which count
  /// from the beginning of the tensor.
  void findParts(int64_t rank,
                 std::vector<std::pair<size_t, Span>> &parts) const;

private:
  /// A tensor, and where it is in the buffer.
  struct Place {
    size_t tensor;
    Span at;
  };
  struct Bucket {
    Span at;
    size_t begin, end; ///< of its places
  };
  void closeBucket();

  int64_t ranks, bucketSize;
  int64_t bucketBegin = 0, next = 0;
  size_t firstPlace = 0; ///< of the bucket that is open
  std::vector<Place> places;
  std::vector<Bucket> buckets;
};

/// The buffers of chunk k of a stage and slot, which all replicas share: one of
/// all flat tensors, and with expert parallelism one of the experts.
class FlatBuffers {
public:
  FlatBuffers(const model::Model &model, const request::Parallelism &parallel,
              int64_t p, int64_t t, int64_t k);

  /// The flat tensors, in module order.
  llvm::ArrayRef<Instance> getInstances() const { return instances; }
  /// The numbers of those that replica d has a part of, ascending, and the
  /// parts.
  std::vector<std::pair<size_t, Span>> findParts(int64_t d) const;

private:
  std::vector<Instance> instances;
  /// Of each: how many follow that are the same parameter in other types.
  std::vector<size_t> others;
  int64_t t, slots, denseRanks, expertRanks;
  Buffer dense, experts;
};

} // namespace etc::layout

#endif // ETC_LAYOUT_FLATBUFFERS_H
