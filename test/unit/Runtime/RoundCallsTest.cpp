// What rounds call of the CUDA driver and of NCCL, as a library before them
// logs it, and that rounds which overlap are right in every order of streams.

#include "../../faults/RingPlan.h"
#include "NcclFixture.h"
#include "PlanFixture.h"

#include "core/engine/DeviceRun.h"
#include "state/synthetic/SyntheticState.h"

#include <latch>
#include <map>
#include <set>
#include <sstream>

using namespace etc::runtime;
using namespace etc::plan::test;
using namespace etc::test;
namespace fb = etc::plan::fb;

namespace {

std::string takeLog() {
  return findInDouble<const char *()>(ETC_CALL_LOG_LIBRARY, "etcCallLogTake")();
}

/// Marks the log with the phases of rounds.
class Marker final : public Observer {
public:
  void enter(uint32_t, uint32_t round, Phase phase) override {
    const char *name = phase == Phase::Pack      ? "pack"
                       : phase == Phase::Land    ? "land"
                       : phase == Phase::Release ? "release"
                       : phase == Phase::Prepare ? "prepare"
                                                 : nullptr;
    if (name)
      mark(text("mark ", name, " ", round).c_str());
  }

private:
  void (*const mark)(const char *) =
      findInDouble<void(const char *)>(ETC_CALL_LOG_LIBRARY, "etcCallLogMark");
};

/// One thread's calls, or marks, in order: a name, and the rest of its line.
struct Call {
  std::string name, rest;
};
using Calls = std::vector<Call>;

/// Of each rank, from the beginning of its first round to the release of its
/// last one.
std::vector<Calls> takeCalls() {
  std::istringstream lines(takeLog());
  std::map<int, Calls> threads;
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    int thread = 0;
    int64_t time = 0;
    Call call;
    words >> thread >> time >> call.name;
    std::getline(words >> std::ws, call.rest);
    threads[thread].push_back(std::move(call));
  }
  std::vector<Calls> ranks;
  for (auto &[thread, calls] : threads) {
    auto isMark = [](const char *what) {
      return [what](const Call &call) {
        return call.name == "mark" && call.rest.starts_with(what);
      };
    };
    auto first = std::find_if(calls.begin(), calls.end(), isMark("pack"));
    auto last = std::find_if(calls.rbegin(), calls.rend(), isMark("release"));
    if (first != calls.end())
      ranks.emplace_back(first, last.base());
  }
  return ranks;
}

bool isPageMove(const std::string &name) {
  return name == "cuMemMap" || name == "cuMemUnmap" || name == "cuMemSetAccess";
}
bool isWait(const std::string &name) {
  return name == "cuEventSynchronize" || name == "cuEventQuery" ||
         name == "cuStreamSynchronize" || name == "cuStreamQuery";
}

/// All that a round may call: nothing of it connects, registers, creates,
/// releases, or waits for a device.
const std::set<std::string> kRoundCalls = {"mark",
                                           "cuCtxSetCurrent",
                                           "cuLaunchKernel",
                                           "cuEventRecord",
                                           "cuMemcpyHtoDAsync_v2",
                                           "cuMemcpyDtoHAsync_v2",
                                           "cuEventQuery",
                                           "cuStreamWaitEvent",
                                           "cuEventSynchronize",
                                           "ncclGroupStart",
                                           "ncclGroupEnd",
                                           "ncclCommGetAsyncError",
                                           "ncclCommCount",
                                           "ncclSend",
                                           "ncclRecv"};

class RoundCallsTest : public NcclTest {
protected:
  void SetUp() override {
    ::setenv("ETC_LOGGED_CUDA_DRIVER", ETC_CUDA_DOUBLE, 1);
    ::setenv("ETC_LOGGED_NCCL", ETC_NCCL_DOUBLE, 1);
    ::setenv("ETC_CUDA_DRIVER", ETC_CALL_LOG_LIBRARY, 1);
    ::setenv("ETC_NCCL", ETC_CALL_LOG_LIBRARY, 1);
    ::setenv("ETC_DOUBLE_GPUS", "8", 1);
    (void)cuda::findDriver(), (void)nccl::findLibrary(); // for good
    NcclTest::SetUp();
    takeLog();
  }

  void migrate(const OpenPlan &plan, Mode mode) {
    const uint32_t count = plan.index.rankCount();
    std::vector<DeviceReport> reports(count);
    auto statuses = onRanks(
        count, Milliseconds(20'000),
        [&](Transport &transport, uint32_t rank, Control &control) {
          auto worker = std::move(*makeCudaWorker(rank));
          RunOptions options{.timeout = Milliseconds(20'000)};
          options.keeping.source = &syntheticState();
          options.mode = mode;
          options.observer = &marker;
          DeviceRun run(plan.index, rank, control, transport, *worker, options);
          Status status = run.prepare();
          if (status.ok())
            status = run.migrate();
          if (status.ok())
            status = run.verify();
          reports[rank] = run.report();
          return status;
        });
    for (uint32_t rank = 0; rank != count; ++rank) {
      EXPECT_EQ(statuses[rank].message(), "") << rank;
      EXPECT_EQ(reports[rank].verified, 1u) << rank;
      EXPECT_LE(reports[rank].peakBytes, reports[rank].provedBytes) << rank;
    }
  }

  Marker marker;
};

/// Small messages, large ones, relays, what is passed on and not kept, and
/// rounds that overlap and do not.
std::vector<fb::PlanT> plans() {
  std::vector<fb::PlanT> all;
  for (int64_t rows : {100, 70'001}) {
    all.push_back(ringPlan(3, 6, rows));
    all.push_back(roomy(ringPlan(3, 6, rows)));
  }
  all.push_back(roomy(twoStagePlan()));
  all.push_back(roomy(relayPlan()));
  all.push_back(roomy(transitPlan()));
  // One device begins rounds early, and its neighbours do not.
  all.push_back(roomy(ringPlan(3, 6, 100), /*programs=*/1));
  return all;
}

TEST_F(RoundCallsTest, RoundsThatOverlapAreRightInEveryOrder) {
  constexpr uint64_t kSeeds = 2;
  for (fb::PlanT &each : plans()) {
    OpenPlan plan(std::move(each));
    for (uint64_t seed = 0; seed != kSeeds; ++seed)
      for (Mode mode : {Mode::Safe, Mode::Eager}) {
        SCOPED_TRACE(text("seed ", seed));
        ETC_OF_CUDA_DOUBLE(etcDoubleSeed)(seed);
        migrate(plan, mode);
        if (HasFailure())
          return;
      }
  }
}

TEST_F(RoundCallsTest, NoRoundCreatesConnectsOrWaitsForADevice) {
  for (fb::PlanT &each : plans()) {
    OpenPlan plan(std::move(each));
    for (Mode mode : {Mode::Safe, Mode::Eager}) {
      takeLog();
      migrate(plan, mode);
      for (const Calls &calls : takeCalls())
        for (const Call &call : calls) {
          // Memory of eager rounds is where earlier ones have released some.
          const bool isAllowed = kRoundCalls.count(call.name) > 0 ||
                                 (mode == Mode::Eager && isPageMove(call.name));
          EXPECT_TRUE(isAllowed)
              << call.name << (mode == Mode::Safe ? " safe" : " eager");
        }
    }
  }
}

TEST_F(RoundCallsTest, ARoundHasTwoLaunchesAStreamAndOneGroup) {
  for (fb::PlanT &each : plans()) {
    OpenPlan plan(std::move(each));
    migrate(plan, Mode::Safe);
    for (const Calls &calls : takeCalls()) {
      std::map<std::string, int> launches; // of each stream
      int groups = 0;
      bool hasWaited = false;
      for (const Call &call : calls) {
        const bool isPack =
            call.name == "mark" && call.rest.starts_with("pack");
        if (isPack)
          launches.clear(), groups = 0;
        if (call.name == "mark")
          hasWaited = false;
        hasWaited = hasWaited || isWait(call.name);
        if (call.name == "cuLaunchKernel") {
          EXPECT_LE(++launches[call.rest], 2);
          EXPECT_FALSE(hasWaited) << "a launch waits for the host";
        }
        groups += call.name == "ncclGroupEnd";
        EXPECT_LE(groups, 1);
      }
    }
  }
}

} // namespace
