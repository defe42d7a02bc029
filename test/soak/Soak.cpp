// Migrations one after the other in the same processes, to see what stays
// behind: etc-soak SECONDS PLAN... runs plans in random order, modes and with
// and without a journal, over as many processes as they have participants, and
// compares memory, descriptors and the time of a round early and late.

#include "Directory.h"
#include "Process.h"

#include "core/plan/PlanFile.h"
#include "core/plan/Referee.h"
#include "state/synthetic/SyntheticState.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <new>
#include <random>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace etc::run;
using namespace etc::runtime;
using etc::plan::PlanFile;
using Clock = std::chrono::steady_clock;

namespace {

/// What a process looks like between two migrations.
struct Sample {
  double residentBytes, descriptors;
  double roundSeconds; // of the migration before, over its plan's median
};

/// Medians of the second and of the last quarter; the first one warms up.
struct Trend {
  Sample early, late;
  uint32_t migrations = 0;
  char failure[500] = "ended without a result";
};

struct Shared {
  std::atomic<uint32_t> started{0}; // migrations that rank 0 has begun
  std::atomic<bool> isOver{false};
  Trend trends[64];
};

struct Soak {
  std::vector<PlanFile> files;
  std::vector<std::unique_ptr<PlanIndex>> plans;
  std::string directory;
  Clock::time_point end;
  Shared *shared;
};

double residentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return static_cast<double>(resident) *
         static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double countDescriptors() {
  std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<double>(std::distance(begin(all), end(all)));
}

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Rank 0 begins a migration when there is time for one; the others follow.
bool awaitNext(const Soak &soak, uint32_t rank, uint32_t number) {
  Shared &shared = *soak.shared;
  if (rank == 0) {
    if (Clock::now() >= soak.end)
      shared.isOver = true;
    else
      shared.started = number + 1;
  }
  while (shared.started <= number && !shared.isOver)
    std::this_thread::sleep_for(Milliseconds(1));
  return shared.started > number;
}

/// All ranks draw the same, and only rank 0 touches what they share.
Status migrateOnce(const Soak &soak, uint32_t rank, uint32_t number,
                   std::mt19937 &random, size_t &plan, double &roundSeconds) {
  plan = random() % soak.plans.size();
  const PlanIndex &index = *soak.plans[plan];
  Options options;
  options.transport = TransportKind::Tcp;
  options.host = "127.0.0.1";
  options.rendezvous = etc::plan::text(soak.directory, "/", number);
  options.mode = random() % 2 ? Mode::Safe : Mode::Eager;
  if (random() % 2)
    options.journal = options.rendezvous + "/journal";
  RunOptions run;
  run.timeout = options.timeout;
  run.mode = options.mode;
  if (!options.journal.empty())
    run.keeping = {options.journal, options.journal, {}, nullptr};
  run.keeping.source = &syntheticState();
  // Whoever is first makes it: a rendezvous has to be there.
  std::filesystem::create_directories(
      options.journal.empty() ? options.rendezvous : options.journal);
  if (rank == 0)
    std::filesystem::remove_all(
        etc::plan::text(soak.directory, "/", number - 2));
  Result<Meeting> meeting = findMeeting({rank, index.rankCount()}, options);
  if (!meeting)
    return meeting.status();
  Outcome outcome;
  {
    Session session;
    runRank(index, rank, *meeting, options, run, outcome, session);
  }
  const auto &rounds = *index.program(index.participant(rank).program).rounds();
  roundSeconds = outcome.report.seconds / std::max(1u, rounds.size());
  return outcome.status();
}

Sample summarize(const std::vector<Sample> &samples, size_t from, size_t to) {
  std::vector<double> bytes, descriptors, seconds;
  for (size_t i = from; i != to; ++i) {
    bytes.push_back(samples[i].residentBytes);
    descriptors.push_back(samples[i].descriptors);
    seconds.push_back(samples[i].roundSeconds);
  }
  return {median(bytes), median(descriptors), median(seconds)};
}

[[noreturn]] void runChild(const Soak &soak, uint32_t rank) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Trend &trend = soak.shared->trends[rank];
  std::mt19937 random(1);
  std::vector<Sample> samples;
  std::vector<size_t> plans;
  std::map<size_t, std::vector<double>> byPlan;
  for (uint32_t number = 0; awaitNext(soak, rank, number); ++number) {
    size_t plan = 0;
    double seconds = 0;
    Status status = migrateOnce(soak, rank, number, random, plan, seconds);
    if (!status.ok()) {
      std::snprintf(trend.failure, sizeof trend.failure, "migration %u: %s",
                    number, status.message().c_str());
      ::_exit(1);
    }
    samples.push_back({residentBytes(), countDescriptors(), seconds});
    plans.push_back(plan);
    byPlan[plan].push_back(seconds);
  }
  for (size_t i = 0; i != samples.size(); ++i)
    samples[i].roundSeconds /= std::max(1e-9, median(byPlan[plans[i]]));
  const size_t quarter = samples.size() / 4;
  trend.early = summarize(samples, quarter, 2 * quarter);
  trend.late = summarize(samples, samples.size() - quarter, samples.size());
  trend.migrations = static_cast<uint32_t>(samples.size());
  trend.failure[0] = 0;
  ::_exit(0);
}

/// A process may keep a little that it will use again.
constexpr double kSlackBytes = 4 << 20;

bool print(const Shared &shared, uint32_t ranks) {
  std::printf("rank  migrations      early MB       late MB  descriptors  "
              "time of a round, late over early\n");
  bool hasGrown = false;
  for (uint32_t rank = 0; rank != ranks; ++rank) {
    const Trend &trend = shared.trends[rank];
    if (trend.failure[0]) {
      std::printf("%4u  %s\n", rank, trend.failure);
      hasGrown = true;
      continue;
    }
    const Sample &early = trend.early, &late = trend.late;
    std::printf("%4u  %10u  %12.1f  %12.1f  %5.0f, %4.0f  %.2f\n", rank,
                trend.migrations, early.residentBytes / 1e6,
                late.residentBytes / 1e6, early.descriptors, late.descriptors,
                late.roundSeconds / std::max(1e-9, early.roundSeconds));
    hasGrown = hasGrown || late.descriptors > early.descriptors ||
               late.residentBytes > early.residentBytes * 1.05 + kSlackBytes;
  }
  std::printf(hasGrown ? "something grows\n"
                       : "no growth in memory or descriptors\n");
  return hasGrown;
}

int fail(const std::string &message) {
  std::fprintf(stderr, "etc-soak: %s\n", message.c_str());
  return 2;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3 || std::atoi(argv[1]) <= 0)
    return fail("usage: etc-soak SECONDS PLAN..., plans of equally many "
                "participants");
  Soak soak;
  for (int i = 2; i != argc; ++i) {
    Result<PlanFile> file = PlanFile::open(argv[i]);
    if (!file)
      return fail(file.status().message());
    soak.files.push_back(std::move(*file));
    soak.plans.push_back(std::make_unique<PlanIndex>(soak.files.back().plan()));
    if (Status s = etc::plan::checkPlan(*soak.plans.back()); !s.ok())
      return fail(s.at(argv[i]).message());
  }
  const uint32_t ranks = soak.plans[0]->rankCount();
  for (const auto &plan : soak.plans)
    if (plan->rankCount() != ranks || ranks > std::size(Shared().trends))
      return fail("the plans need equally many participants, at most 64");
  std::string pattern =
      std::filesystem::temp_directory_path() / "etc-soak-XXXXXX";
  if (!::mkdtemp(pattern.data()))
    return fail("cannot make a directory: " + pattern);
  soak.directory = pattern;
  soak.end = Clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  void *memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return fail("no shared memory");
  soak.shared = new (memory) Shared;
  for (uint32_t rank = 0; rank != ranks; ++rank)
    if (::fork() == 0)
      runChild(soak, rank);
  // When one fails, the others' next wait does too.
  int state = 0;
  while (::wait(&state) > 0)
    if (state != 0)
      soak.shared->isOver = true;
  std::filesystem::remove_all(soak.directory);
  return print(*soak.shared, ranks) ? 1 : 0;
}
