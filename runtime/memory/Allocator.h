// Where tensors live: they are allocated and released whole.

#ifndef ETC_RUNTIME_MEMORY_ALLOCATOR_H
#define ETC_RUNTIME_MEMORY_ALLOCATOR_H

#include "plan/Status.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

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

/// Gives memory of one device, and counts it. Not for use by several threads at
/// once.
class Allocator {
public:
  virtual ~Allocator() = default;

  /// At least 64-byte aligned, contents undefined. The error is of kind Usage:
  /// too little memory.
  Result<Buffer> allocate(uint64_t bytes) {
    Result<Buffer> buffer = take(bytes);
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

  /// Bytes given out now, and the most there ever were.
  uint64_t liveBytes() const { return live_; }
  uint64_t highWater() const { return highWater_; }

  /// Starts counting anew from what lives now.
  void forgetHighWater() { highWater_ = live_; }

private:
  virtual Result<Buffer> take(uint64_t bytes) = 0;
  virtual void giveBack(Buffer buffer) = 0;

  uint64_t live_ = 0;
  uint64_t highWater_ = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_MEMORY_ALLOCATOR_H
