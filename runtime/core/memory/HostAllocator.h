// Host memory whose pages are used again.

#ifndef ETC_RUNTIME_CORE_MEMORY_HOSTALLOCATOR_H
#define ETC_RUNTIME_CORE_MEMORY_HOSTALLOCATOR_H

#include "core/memory/Allocator.h"

#include <map>

namespace etc::runtime {

/// Large buffers are mapped, and kept after their release for the next of the
/// same number of pages: a fresh page costs more than a copy into it. What is
/// kept and what lives together never exceed the high water, page rounding
/// aside, so the process stays as small as if every release had gone to the
/// system.
class HostAllocator final : public Allocator {
public:
  HostAllocator() = default;
  ~HostAllocator() override;
  HostAllocator(const HostAllocator &) = delete;
  HostAllocator &operator=(const HostAllocator &) = delete;

private:
  Result<Buffer> take(uint64_t bytes) override;
  void giveBack(Buffer buffer) override;

  std::byte *takeMapped(uint64_t bytes);
  /// Returns kept buffers to the system until at most `bytes` of them are left.
  void shrinkKept(uint64_t bytes);

  std::multimap<uint64_t, std::byte *> kept; // by mapped size
  uint64_t keptBytes = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_MEMORY_HOSTALLOCATOR_H
