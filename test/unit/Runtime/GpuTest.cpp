// The GPU's paths over the test double: workers and virtual devices.

#include "GpuFixture.h"
#include "PlanFixture.h"

#include "core/engine/LocalRun.h"
#include "state/synthetic/SyntheticState.h"

using namespace etc::runtime;
using namespace etc::plan::test;
using etc::test::GpuTest;
using etc::test::OpenPlan;
namespace fb = etc::plan::fb;

namespace {

RunOptions quickly() {
  RunOptions options{.timeout = Milliseconds(20'000), .ceiling = true};
  options.keeping.source = &syntheticState();
  return options;
}

unsigned mappedPages() { return ETC_OF_CUDA_DOUBLE(etcDoubleMappedPages)(); }
unsigned modules() { return ETC_OF_CUDA_DOUBLE(etcDoubleModules)(); }
unsigned launches() { return ETC_OF_CUDA_DOUBLE(etcDoubleLaunches)(); }

TEST_F(GpuTest, BuffersComeAndGoByThePage) {
  const unsigned before = mappedPages();
  {
    auto worker = std::move(*makeCudaWorker(0));
    Allocator &memory = worker->allocator();
    ASSERT_TRUE(worker->reserve(200'000).ok());
    // Four pages, and four spare ones.
    EXPECT_EQ(worker->heldBytes(), 8u << 16);
    EXPECT_EQ(mappedPages(), before + 8);
    // 100 000 bytes lie on two pages of 65 536; the next buffer begins on the
    // second and ends on the third. A released page stays for what comes next.
    Buffer first = *memory.allocate(100'000);
    Buffer second = *memory.allocate(60'000);
    memory.release(first);
    Buffer third = *memory.allocate(60'000);
    memory.release(second);
    memory.release(third);
    EXPECT_EQ(mappedPages(), before + 8);
    EXPECT_EQ(worker->heldBytes(), 8u << 16);
  }
  EXPECT_EQ(mappedPages(), before);
}

/// A mistake in the order of the calls is not to pass here.
TEST_F(GpuTest, AccessIsGrantedToMappedPages) {
  const cuda::Driver &driver = *cuda::findDriver();
  const cuda::Access access{{cuda::kOnDevice, 0}, cuda::kReadWrite};
  cuda::PageProperties properties{};
  properties.type = cuda::kPinned;
  properties.location = access.location;
  constexpr size_t page = 1 << 16;
  cuda::Address data = 0;
  cuda::PageHandle handle = 0;
  ASSERT_EQ(driver.cuMemAddressReserve(&data, 2 * page, page, 0, 0), 0);
  ASSERT_EQ(driver.cuMemCreate(&handle, page, &properties, 0), 0);
  const char *refusal = "access is granted to memory that is not mapped";
  EXPECT_NE(driver.cuMemSetAccess(data, page, &access, 1), 0);
  EXPECT_EQ(etc::test::takeFault(), refusal);
  ASSERT_EQ(driver.cuMemMap(data, page, 0, handle, 0), 0);
  EXPECT_NE(driver.cuMemSetAccess(data, 2 * page, &access, 1), 0);
  EXPECT_EQ(etc::test::takeFault(), refusal);
  EXPECT_EQ(driver.cuMemSetAccess(data, page, &access, 1), 0);
  driver.cuMemUnmap(data, page);
  driver.cuMemRelease(handle);
  driver.cuMemAddressFree(data, 2 * page);
}

/// A job that changes often would fill its GPUs with kernels.
TEST_F(GpuTest, AWorkerLeavesNoKernelsBehind) {
  const unsigned before = modules();
  {
    auto worker = std::move(*makeCudaWorker(0));
    ASSERT_TRUE(worker->reserveMoves(1, 1).ok());
    EXPECT_EQ(modules(), before + 1);
  }
  EXPECT_EQ(modules(), before);
}

void expectProved(const LocalOutcome &outcome, const PlanIndex &index) {
  ASSERT_EQ(outcome.status.message(), "");
  for (const DeviceReport &report : outcome.reports) {
    EXPECT_EQ(report.verified, 1u) << report.device;
    EXPECT_LE(report.peakBytes, report.provedBytes) << report.device;
  }
  EXPECT_EQ(outcome.reports.size(), index.rankCount());
}

TEST_F(GpuTest, VirtualDevicesShareAGpu) {
  const unsigned pages = mappedPages();
  for (auto plan : {twoStagePlan(), relayPlan(), transitPlan()}) {
    OpenPlan open(std::move(plan));
    unsigned before = launches();
    LocalOutcome outcome = runLocally(
        open.index, quickly(), [](uint32_t) { return makeCudaWorker(0); });
    expectProved(outcome, open.index);
    EXPECT_GT(launches(), before);
  }
  EXPECT_EQ(mappedPages(), pages);
}

/// Each kernel copies from tensors of another GPU, whose worker grants that.
TEST_F(GpuTest, DevicesOfOneProcessReadEachOthersGpus) {
  const unsigned pages = mappedPages();
  for (auto plan : {twoStagePlan(), relayPlan(), transitPlan()}) {
    OpenPlan open(std::move(plan));
    const unsigned gpus[] = {0, 1, 2};
    LocalOutcome outcome =
        runLocally(open.index, quickly(), [&](uint32_t rank) {
          return makeCudaWorker(rank % std::size(gpus), gpus);
        });
    expectProved(outcome, open.index);
  }
  EXPECT_EQ(mappedPages(), pages);
}

/// Their memory may be there, but not for others; and memory of the driver's
/// pool is for its own GPU.
TEST_F(GpuTest, GpusWithoutAccessAreRefused) {
  for (const char *missing : {"ETC_DOUBLE_NO_PEERS", "ETC_DOUBLE_NO_PAGES"}) {
    ::setenv(missing, "1", 1);
    const unsigned both[] = {0, 1}, own[] = {0};
    EXPECT_EQ(
        makeCudaWorker(0, both).status().message(),
        "GPU 1 cannot access the memory of GPU 0, from which it receives; "
        "make one GPU visible with CUDA_VISIBLE_DEVICES, or start processes "
        "with --launch=N --transport=nccl")
        << missing;
    EXPECT_TRUE(makeCudaWorker(0, own).status().ok()) << missing;
    ::unsetenv(missing);
  }
}

/// Memory of the driver's pool is there in the order of one stream.
TEST_F(GpuTest, DevicesWithoutPagesRunInEveryOrder) {
  ::setenv("ETC_DOUBLE_NO_PAGES", "1", 1);
  OpenPlan open(relayPlan());
  for (uint64_t order = 1; order != 9; ++order) {
    ETC_OF_CUDA_DOUBLE(etcDoubleSeed)(order);
    LocalOutcome outcome = runLocally(
        open.index, quickly(), [](uint32_t) { return makeCudaWorker(0); });
    expectProved(outcome, open.index);
  }
  ::unsetenv("ETC_DOUBLE_NO_PAGES");
}

TEST_F(GpuTest, WrongElementsOnAGpuAreNamed) {
  fb::PlanT broken = twoStagePlan();
  std::vector<fb::Op> &ops = broken.programs[0]->rounds[0]->ops;
  ops[3].mutate_box(ops[2].box()); // row 2 of the embedding is not kept
  OpenPlan plan(std::move(broken));
  LocalOutcome outcome = runLocally(plan.index, quickly(),
                                    [](uint32_t) { return makeCudaWorker(0); });
  EXPECT_EQ(outcome.status.kind(), ErrorKind::Verification);
  EXPECT_NE(outcome.status.message().find(
                ": embedding.weight (param)[2, 0]: expected 0x"),
            std::string::npos)
      << outcome.status.message();
}

} // namespace
