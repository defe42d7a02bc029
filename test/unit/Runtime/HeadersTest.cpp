// Our declarations of binary interfaces, against the headers where they are.

#include "core/transport/NcclLibrary.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

using namespace etc::runtime;

#if __has_include(<cuda.h>)
#include <cuda.h>

static_assert(sizeof(cuda::Address) == sizeof(CUdeviceptr));
static_assert(sizeof(cuda::PageHandle) == sizeof(CUmemGenericAllocationHandle));
static_assert(sizeof(cuda::Uuid) == sizeof(CUuuid));
static_assert(sizeof(cuda::Location) == sizeof(CUmemLocation));
static_assert(sizeof(cuda::PageProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(cuda::PageProperties, location) ==
              offsetof(CUmemAllocationProp, location));
static_assert(offsetof(cuda::PageProperties, allocFlags) ==
              offsetof(CUmemAllocationProp, allocFlags));
static_assert(sizeof(cuda::Access) == sizeof(CUmemAccessDesc));
static_assert(offsetof(cuda::Access, flags) ==
              offsetof(CUmemAccessDesc, flags));
static_assert(cuda::kNotReady == CUDA_ERROR_NOT_READY);
static_assert(cuda::kOnDevice == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(cuda::kNoTiming == CU_EVENT_DISABLE_TIMING);
static_assert(cuda::kPinned == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(cuda::kReadWrite == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(cuda::kMultiprocessors ==
              CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(cuda::kCapabilityMajor ==
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(cuda::kCapabilityMinor ==
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(cuda::kVirtualMemory ==
              CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);

TEST(Headers, CudaIsAsDeclared) { SUCCEED(); }
#else
TEST(Headers, CudaIsAsDeclared) { GTEST_SKIP() << "no cuda.h"; }
#endif

#if __has_include(<cuda.h>) && __has_include(<nccl.h>)
#include <nccl.h>

static_assert(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId));
static_assert(offsetof(nccl::Config, blocking) ==
              offsetof(ncclConfig_t, blocking));
static_assert(offsetof(nccl::Config, maxCTAs) ==
              offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(nccl::Config, splitShare) ==
              offsetof(ncclConfig_t, splitShare));
#if NCCL_VERSION_CODE >= 22600
static_assert(offsetof(nccl::Config, trafficClass) ==
              offsetof(ncclConfig_t, trafficClass));
#endif
#if NCCL_VERSION_CODE >= 22700
static_assert(offsetof(nccl::Config, commName) ==
              offsetof(ncclConfig_t, commName));
static_assert(offsetof(nccl::Config, nvlsCTAs) ==
              offsetof(ncclConfig_t, nvlsCTAs));
#endif
#if NCCL_VERSION_CODE >= 22800
static_assert(offsetof(nccl::Config, nvlinkCentricSched) ==
              offsetof(ncclConfig_t, nvlinkCentricSched));
#endif
static_assert(nccl::kInProgress == ncclInProgress);
static_assert(nccl::kBytes == ncclUint8);

TEST(Headers, NcclIsAsDeclared) {
  const nccl::Config config = nccl::configOf(NCCL_VERSION_CODE);
  ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  EXPECT_EQ(config.magic, theirs.magic);
  EXPECT_LE(config.size, theirs.size);
  EXPECT_LE(config.version, theirs.version);
}
#else
TEST(Headers, NcclIsAsDeclared) { GTEST_SKIP() << "no nccl.h"; }
#endif

// sizeof(ncclConfig_t) in nccl.h of 2.19.3, 2.21.5, 2.26.2, 2.27.7 and 2.28.9.
TEST(NcclConfig, HasNoFieldsThatAVersionLacks) {
  EXPECT_EQ(nccl::configOf(21903).size, 48u);
  EXPECT_EQ(nccl::configOf(22105).size, 48u);
  EXPECT_EQ(nccl::configOf(22602).size, 48u);
  EXPECT_EQ(nccl::configOf(22707).size, 72u);
  EXPECT_EQ(nccl::configOf(22809).size, 80u);
  EXPECT_EQ(nccl::configOf(21903).version, 21903u);
  // Later ones have more fields; what they do is not known here.
  EXPECT_EQ(nccl::configOf(23203).size, 80u);
  EXPECT_EQ(nccl::configOf(23203).version, 22800u);
}
