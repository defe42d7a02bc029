#include "Process.h"

#include "Devices.h"
#include "TraceFile.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <type_traits>

using namespace etc::run;
using namespace etc::runtime;

static_assert(std::is_trivially_copyable_v<Outcome>,
              "outcomes travel between processes as they are");

void Outcome::set(const Status &status) {
  kind = status.kind();
  size_t length = std::min(status.message().size(), sizeof message - 1);
  std::memcpy(message, status.message().data(), length);
  message[length] = 0;
}

Status Outcome::status() const {
  return kind == ErrorKind::None ? Status::success() : Status(kind, message);
}

static std::optional<uint32_t> readNumber(const char *variable) {
  const char *value = std::getenv(variable);
  if (!value)
    return std::nullopt;
  uint32_t number = 0;
  const char *end = value + std::strlen(value);
  auto [stop, error] = std::from_chars(value, end, number);
  return error == std::errc() && stop == end ? std::optional(number)
                                             : std::nullopt;
}

std::optional<Member> etc::run::findLaunchedMember() {
  for (auto [rankName, countName] :
       {std::pair("RANK", "WORLD_SIZE"),
        std::pair("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        std::pair("SLURM_PROCID", "SLURM_NTASKS")}) {
    auto rank = readNumber(rankName), count = readNumber(countName);
    if (rank && count && *rank < *count)
      return Member{*rank, *count};
  }
  return std::nullopt;
}

std::unique_ptr<Transport>
etc::run::runRank(const PlanIndex &index, uint32_t rank, const Options &options,
                  Progress *progress, Outcome &outcome) {
  auto transport = connect(index, options, rank);
  if (!transport) {
    outcome.set(transport.status());
    return nullptr;
  }
  auto worker = makeWorker(options, rank);
  if (!worker) {
    outcome.set(worker.status());
    (*transport)->abort();
    return nullptr;
  }
  TraceLog trace;
  DeviceRun run(index, rank, **transport, **worker,
                {options.timeout, options.verify, options.ceiling, progress,
                 options.trace.empty() ? nullptr : &trace});
  Status status = run.prepare();
  if (status.ok())
    status = run.migrate();
  const bool isMigrated = status.ok();
  if (isMigrated)
    status = run.verify();
  else
    (*transport)->abort();
  if (status.ok() && !options.trace.empty())
    status = writeTrace(tracePart(options.trace, rank), trace);
  outcome.report = run.report();
  outcome.set(status);
  return isMigrated ? std::move(*transport) : nullptr;
}

RunResult etc::run::runLaunched(const PlanIndex &index, Member self,
                                const Options &options) {
  Outcome mine;
  auto transport = runRank(index, self.rank, options, nullptr, mine);
  RunResult result;
  result.status = mine.status();
  if (!transport)
    return result;
  std::vector<Outcome> all(self.rank == 0 ? self.count : 0);
  Status gathered =
      gather(*transport, self, std::as_bytes(std::span(&mine, 1)),
             std::as_writable_bytes(std::span(all)), options.timeout);
  if (result.status.ok())
    result.status = gathered;
  for (const Outcome &outcome : all) {
    result.reports.push_back(outcome.report);
    if (result.status.ok())
      result.status = outcome.status();
  }
  return result;
}
