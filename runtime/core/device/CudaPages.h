// Pages of GPU memory, mapped and unmapped by the driver's virtual memory
// management.

#ifndef ETC_RUNTIME_CORE_DEVICE_CUDAPAGES_H
#define ETC_RUNTIME_CORE_DEVICE_CUDAPAGES_H

#include "core/device/CudaDriver.h"
#include "core/memory/PageSource.h"

#include <span>
#include <vector>

namespace etc::runtime {

class CudaPages final : public PageSource {
public:
  /// Kernels of `device` and of `readers`, which have access to its memory, may
  /// use the pages.
  CudaPages(const cuda::Driver &driver, cuda::Device device,
            std::span<const cuda::Device> readers);
  ~CudaPages() override;
  CudaPages(const CudaPages &) = delete;
  CudaPages &operator=(const CudaPages &) = delete;

  /// Whether the device has virtual memory management.
  static bool areSupported(const cuda::Driver &driver, cuda::Device device);

  uint64_t pageBytes() const override { return granularity; }
  Result<std::byte *> reserve(uint64_t bytes) override;
  Result<Page> create() override;
  void destroy(Page page) override;
  Status map(Page page, std::byte *at) override;
  void unmap(Page page, std::byte *at) override;

private:
  struct Space {
    cuda::Address data;
    uint64_t bytes;
  };

  const cuda::Driver &driver;
  cuda::PageProperties properties{};
  std::vector<cuda::Access> accesses;
  size_t granularity = 0;
  std::vector<Space> spaces;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_DEVICE_CUDAPAGES_H
