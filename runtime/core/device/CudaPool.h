// GPU memory from the driver's stream-ordered pool, for devices without virtual
// memory management.

#ifndef ETC_RUNTIME_CORE_DEVICE_CUDAPOOL_H
#define ETC_RUNTIME_CORE_DEVICE_CUDAPOOL_H

#include "core/device/CudaDriver.h"
#include "core/memory/Allocator.h"

namespace etc::runtime {

/// Allocation and release wait for nothing but each other. What is released is
/// another's at once: no work may be under way.
class CudaPool final : public Allocator {
public:
  explicit CudaPool(const cuda::DeviceContext &context)
      : context(context), driver(context.driver()) {}

  /// From here on nothing that is released goes to others.
  void abandon() { isAbandoned = true; }

private:
  Result<Buffer> take(uint64_t bytes) override {
    if (bytes == 0)
      return Buffer{};
    if (Status s = context.enter(); !s.ok())
      return s;
    cuda::Address data = 0;
    Status status = driver.check(driver.cuMemAllocAsync(&data, bytes, nullptr),
                                 "cannot allocate device memory");
    // Other streams use it at once.
    if (status.ok())
      status = driver.check(driver.cuStreamSynchronize(nullptr),
                            "cannot allocate device memory");
    if (!status.ok())
      return status;
    return Buffer{reinterpret_cast<std::byte *>(data), bytes};
  }

  void giveBack(Buffer buffer) override {
    if (buffer.data && !isAbandoned && context.enter().ok())
      driver.cuMemFreeAsync(reinterpret_cast<cuda::Address>(buffer.data),
                            nullptr);
  }

  const cuda::DeviceContext context;
  const cuda::Driver &driver;
  bool isAbandoned = false;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_DEVICE_CUDAPOOL_H
