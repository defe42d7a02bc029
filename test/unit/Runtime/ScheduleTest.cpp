// Plans over the doubles in many random legal orders of what devices do: the
// state is right bit for bit, and no call between the first round and the last
// connects, registers, creates, releases or waits for a device.

#include "NcclFixture.h"
#include "PlanFixture.h"

#include "../../faults/RingPlan.h"
#include "core/engine/DeviceRun.h"
#include "core/engine/Observer.h"
#include "state/synthetic/SyntheticState.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace etc::runtime;
using namespace etc::plan::test;
using namespace etc::test;

namespace {

uint64_t numberFrom(const char *variable, uint64_t otherwise) {
  const char *value = std::getenv(variable);
  return value && *value ? std::strtoull(value, nullptr, 10) : otherwise;
}

/// Watches a GPU from the first round to the last.
class Watch final : public Observer {
public:
  explicit Watch(uint32_t gpu) : gpu(gpu) {}
  ~Watch() override { ETC_OF_CUDA_DOUBLE(etcDoubleWatch)(gpu, false); }
  void enter(uint32_t, uint32_t, Phase phase) override {
    if (phase == Phase::Pack || phase == Phase::Prepare)
      ETC_OF_CUDA_DOUBLE(etcDoubleWatch)(gpu, phase == Phase::Pack);
  }

private:
  const uint32_t gpu;
};

std::vector<uint8_t> readFile(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Those of the tests, and of a folder that ETC_SCHEDULE_PLANS names.
std::vector<std::vector<uint8_t>> allPlans() {
  std::vector<std::vector<uint8_t>> plans;
  for (auto plan : {twoStagePlan(), relayPlan(), transitPlan(),
                    ringPlan(4, 8, 4096), ringPlan(3, 5, 64)})
    plans.push_back(etc::plan::packPlan(std::move(plan)));
  const char *folder = std::getenv("ETC_SCHEDULE_PLANS");
  std::vector<std::filesystem::path> paths;
  if (folder)
    for (const auto &entry : std::filesystem::directory_iterator(folder))
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const auto &path : paths)
    plans.push_back(readFile(path));
  return plans;
}

class ScheduleTest : public NcclTest {
protected:
  /// What is wrong after a run in one order, or nothing.
  std::string run(const etc::plan::PlanIndex &index, uint64_t seed, Mode mode) {
    ETC_OF_CUDA_DOUBLE(etcDoubleSeed)(seed);
    std::vector<DeviceReport> reports(index.rankCount());
    auto statuses = onRanks(
        index.rankCount(), Milliseconds(30'000),
        [&](Transport &transport, uint32_t rank, Control &control) {
          auto worker = std::move(*makeCudaWorker(rank));
          Watch watch(rank);
          RunOptions options{.timeout = Milliseconds(30'000)};
          options.keeping.source = &syntheticState();
          options.mode = mode;
          options.observer = &watch;
          DeviceRun run(index, rank, control, transport, *worker, options);
          Status status = run.prepare();
          if (status.ok())
            status = run.migrate();
          if (status.ok())
            status = run.verify();
          reports[rank] = run.report();
          return status;
        });
    for (uint32_t rank = 0; rank != statuses.size(); ++rank)
      if (!statuses[rank].ok())
        return statuses[rank].message();
      else if (reports[rank].verified != 1)
        return "not verified";
      else if (reports[rank].peakBytes > reports[rank].provedBytes)
        return "the peak is above the proved one";
    return takeFault();
  }
};

TEST_F(ScheduleTest, StateIsRightInEveryOrder) {
  const uint64_t first =
      numberFrom("ETC_PROPERTY_SEED", std::random_device{}());
  const uint64_t count = numberFrom("ETC_PROPERTY_COUNT", 200);
  const auto plans = allPlans();
  for (uint64_t seed = first; seed != first + count; ++seed) {
    const auto &bytes = plans[seed % plans.size()];
    const etc::plan::PlanIndex index(*etc::plan::fb::GetPlan(bytes.data()));
    ASSERT_EQ(run(index, seed + 1,
                  seed / plans.size() % 2 ? Mode::Safe : Mode::Eager),
              "")
        << "ETC_PROPERTY_SEED=" << seed << " ETC_PROPERTY_COUNT=1, of "
        << plans.size() << " plans";
  }
}

} // namespace
