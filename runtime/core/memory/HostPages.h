// Large pages of host memory, moved between addresses by the kernel without a
// copy.

#ifndef ETC_RUNTIME_CORE_MEMORY_HOSTPAGES_H
#define ETC_RUNTIME_CORE_MEMORY_HOSTPAGES_H

#include "core/memory/PageSource.h"

#include <vector>

namespace etc::runtime {

/// A page that is not mapped is parked at an address of its own.
class HostPages final : public PageSource {
public:
  HostPages() = default;
  ~HostPages() override;
  HostPages(const HostPages &) = delete;
  HostPages &operator=(const HostPages &) = delete;

  /// Whether the kernel moves pages (Linux 5.7 and later).
  static bool areSupported();

  uint64_t pageBytes() const override { return uint64_t{2} << 20; }
  Result<std::byte *> reserve(uint64_t bytes) override;
  Result<Page> create() override;
  void destroy(Page page) override;
  Status map(Page page, std::byte *at) override;
  void unmap(Page page, std::byte *at) override;

private:
  struct Space {
    void *data;
    uint64_t bytes;
  };

  std::vector<Space> spaces;
  std::byte *parking = nullptr, *parkingEnd = nullptr;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_MEMORY_HOSTPAGES_H
