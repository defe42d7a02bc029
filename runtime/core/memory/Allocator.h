// Where tensors live: they are allocated and released whole.

#ifndef ETC_RUNTIME_CORE_MEMORY_ALLOCATOR_H
#define ETC_RUNTIME_CORE_MEMORY_ALLOCATOR_H

#include "core/plan/Status.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Result;
using plan::Status;
using plan::text;

/// Memory that an allocator gave out. A plain handle: whoever holds it returns
/// it to the same allocator.
struct Buffer {
  std::byte *data = nullptr;
  uint64_t bytes = 0;
};

class Allocator;

/// What will be allocated and released later, in this order.
using Rehearsal = std::function<Status(Allocator &)>;

/// Gives memory of one device, and counts it. Not for use by several threads at
/// once.
class Allocator {
public:
  virtual ~Allocator() = default;

  /// At least 64-byte aligned, contents undefined. The error is of kind Usage:
  /// too little memory. Memory that outlives the process is found again by its
  /// name; without one it never outlives it.
  Result<Buffer> allocate(uint64_t bytes, const std::string &name = {}) {
    Result<Buffer> buffer = name.empty() ? take(bytes) : takeNamed(bytes, name);
    if (buffer) {
      live_ += bytes;
      highWater_ = std::max(highWater_, live_);
    }
    return buffer;
  }

  void release(Buffer buffer) {
    live_ -= buffer.bytes;
    giveBack(buffer);
  }

  /// Whether named memory is there that an earlier process left, or that was
  /// released for a later one; forget() gives it up.
  virtual bool has(const std::string &) const { return false; }
  virtual void forget(const std::string &) {}
  /// From now on, releases leave named memory for a later process, where that
  /// is possible at all.
  virtual void keepForLater() {}

  /// Whether what was released makes room for what is allocated later.
  virtual bool reuses() const { return true; }
  /// Whether allocating may wait for all that the device does.
  virtual bool mayWait() const { return false; }
  /// Tells whether transfers are under way. While they are, an allocator that
  /// may wait gives nothing back; it does so when it is told that none is.
  virtual void noteTransfers(bool) {}

  /// Bytes given out now, and the most there ever were.
  uint64_t liveBytes() const { return live_; }
  uint64_t highWater() const { return highWater_; }

  /// Starts counting anew from what lives now.
  void forgetHighWater() { highWater_ = live_; }

private:
  virtual Result<Buffer> take(uint64_t bytes) = 0;
  virtual Result<Buffer> takeNamed(uint64_t bytes, const std::string &) {
    return take(bytes);
  }
  virtual void giveBack(Buffer buffer) = 0;

  uint64_t live_ = 0;
  uint64_t highWater_ = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_MEMORY_ALLOCATOR_H
