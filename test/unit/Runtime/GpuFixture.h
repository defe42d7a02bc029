// What tests of the GPU's code have in common: doubles stand in for driver and
// NCCL.

#ifndef ETC_TEST_GPUFIXTURE_H
#define ETC_TEST_GPUFIXTURE_H

#include "GpuDouble.h"

#include "core/device/CudaWorker.h"
#include "core/plan/PlanFile.h"
#include "core/plan/PlanIndex.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <iostream>
#include <random>

namespace etc::test {

/// Before the first look-up of a library.
inline void chooseDouble() {
  ::setenv("ETC_CUDA_DRIVER", ETC_CUDA_DOUBLE, 1);
  ::setenv("ETC_NCCL", ETC_NCCL_DOUBLE, 1);
  ::setenv("ETC_DOUBLE_GPUS", "8", 1);
}

/// A function of a double, by its name.
template <typename Function>
Function *findInDouble(const char *library, const char *name) {
  void *handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function *>(::dlsym(handle, name));
}
#define ETC_OF_CUDA_DOUBLE(name)                                               \
  (etc::test::findInDouble<decltype(name)>(ETC_CUDA_DOUBLE, #name))
#define ETC_OF_NCCL_DOUBLE(name)                                               \
  (etc::test::findInDouble<decltype(name)>(ETC_NCCL_DOUBLE, #name))

inline std::string takeFault() {
  return ETC_OF_CUDA_DOUBLE(etcDoubleTakeFault)();
}

/// Memory of a GPU, of no use to the host, which goes with the process.
inline std::byte *takeGpuMemory(unsigned gpu, size_t bytes) {
  const runtime::cuda::Driver &driver = *runtime::cuda::findDriver();
  auto context = runtime::cuda::DeviceContext::open(driver, gpu);
  runtime::cuda::Address data = 0;
  if (!context || driver.cuMemAlloc_v2(&data, bytes) != runtime::cuda::kSuccess)
    return nullptr;
  return reinterpret_cast<std::byte *>(data);
}

/// Gives it back before, which waits for the device.
inline void leaveGpuMemory(unsigned gpu, void *data) {
  const runtime::cuda::Driver &driver = *runtime::cuda::findDriver();
  if (runtime::cuda::DeviceContext::open(driver, gpu))
    driver.cuMemFree_v2(reinterpret_cast<runtime::cuda::Address>(data));
}

/// A plan as it is loaded.
class OpenPlan {
public:
  explicit OpenPlan(plan::fb::PlanT plan)
      : bytes(plan::packPlan(std::move(plan))),
        index(*plan::fb::GetPlan(bytes.data())) {}

private:
  std::vector<uint8_t> bytes;

public:
  plan::PlanIndex index;
};

class GpuTest : public testing::Test {
protected:
  void SetUp() override {
    chooseDouble();
    if (runtime::makeCudaWorker(0).status().message().starts_with(
            "built without GPU kernels"))
      GTEST_SKIP() << "built without GPU kernels";
    seed = std::random_device{}();
    ETC_OF_CUDA_DOUBLE(etcDoubleSeed)(seed);
    takeFault();
  }
  void TearDown() override {
    EXPECT_EQ(takeFault(), "");
    if (HasFailure())
      std::cerr << "etcDoubleSeed(" << seed << ")\n";
  }

private:
  unsigned seed = 0;
};

} // namespace etc::test

#endif // ETC_TEST_GPUFIXTURE_H
