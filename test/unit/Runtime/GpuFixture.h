// What tests of the GPU's code have in common: the test double stands in for
// driver and NCCL.

#ifndef ETC_TEST_GPUFIXTURE_H
#define ETC_TEST_GPUFIXTURE_H

#include "GpuDouble.h"

#include "device/CudaWorker.h"
#include "plan/PlanFile.h"
#include "plan/PlanIndex.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>

namespace etc::test {

/// Before the first look-up of a library.
inline void chooseDouble() {
  ::setenv("ETC_CUDA_DRIVER", ETC_GPU_DOUBLE, 1);
  ::setenv("ETC_NCCL", ETC_GPU_DOUBLE, 1);
  ::setenv("ETC_DOUBLE_GPUS", "8", 1);
}

template <typename Result> Result callDouble(const char *name) {
  void *handle = ::dlopen(ETC_GPU_DOUBLE, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Result (*)()>(::dlsym(handle, name))();
}

inline std::string takeFault() {
  return callDouble<const char *>("etcDoubleTakeFault");
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
    takeFault();
  }
  void TearDown() override { EXPECT_EQ(takeFault(), ""); }
};

} // namespace etc::test

#endif // ETC_TEST_GPUFIXTURE_H
