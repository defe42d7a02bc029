#include "StateEnds.h"

#include "Directory.h"

#include "core/plan/Referee.h"

#include <algorithm>

using namespace etc::run;
using namespace etc::runtime;

Result<std::unique_ptr<StoredState>>
etc::run::openStoredState(const PlanIndex &index, const Options &options,
                          const std::vector<uint32_t> &ranks) {
  Result<Checkpoint> checkpoint = Checkpoint::open(options.in);
  if (!checkpoint)
    return checkpoint.status();
  auto state = std::make_unique<StoredState>(std::move(*checkpoint));
  Status status = Status::success();
  if (!options.isConversion())
    status = state->checkSide(index, ranks, Side::Prev);
  if (status.ok() && (options.isConversion() || options.verify == Verify::Full))
    status = state->checkSide(index, ranks, Side::Curr);
  return status.ok() ? Result<std::unique_ptr<StoredState>>(std::move(state))
                     : Result<std::unique_ptr<StoredState>>(std::move(status));
}

Status StateEnds::openFiles(const PlanIndex &index, const Options &options,
                            const std::vector<uint32_t> &ranks,
                            RunOptions &run) {
  if (!options.in.empty()) {
    auto opened = openStoredState(index, options, ranks);
    if (!opened)
      return opened.status();
    stored = std::move(*opened);
    run.keeping.source = stored.get();
  }
  if (!options.out.empty()) {
    Result<StateFolder> made = StateFolder::make(options.out);
    if (!made)
      return made.status();
    folder = std::move(*made);
    run.sink = &*folder;
  }
  return Status::success();
}

/// What the migration in a directory was asked to do.
static Result<Options> readOptions(const std::string &journal) {
  std::string program = "etc-run", verb = "status", directory = journal;
  char *arguments[] = {program.data(), verb.data(), directory.data()};
  return parseOptions(3, arguments);
}

Status StateEnds::openLeft(const Options &options, RunOptions &run) {
  const std::vector<Standing> &known = run.keeping.standings;
  const bool isRead =
      !known.empty() &&
      std::all_of(known.begin(), known.end(),
                  [](const Standing &standing) { return standing.isFilled; });
  if (options.from.empty() || isRead)
    return Status::success();
  Result<Options> earlier = readOptions(options.from);
  if (!earlier)
    return earlier.status();
  Result<etc::plan::PlanFile> file = etc::plan::PlanFile::open(earlier->plan);
  if (!file)
    return file.status();
  leftFile = std::move(*file);
  leftIndex.emplace(leftFile->plan());
  if (Status s = etc::plan::checkPlan(*leftIndex, leftFile->lane()); !s.ok())
    return s.at(earlier->plan);
  Result<Survivors> standings = readStandings(*leftIndex, options.from);
  if (!standings)
    return standings.status();
  if (Status s = dropFailed(*leftIndex, options, *standings); !s.ok())
    return s;
  std::optional<Checkpoint> checkpoint;
  if (!options.restoreFrom.empty()) {
    Result<Checkpoint> opened = Checkpoint::open(options.restoreFrom);
    if (!opened)
      return opened.status();
    checkpoint = std::move(*opened);
  }
  auto state = LeftState::open(*leftIndex, *standings, stateDirectory(*earlier),
                               std::move(checkpoint));
  if (!state)
    return state.status();
  left = std::move(*state);
  run.keeping.source = left.get();
  return Status::success();
}

Status StateEnds::finish(const PlanIndex &index) const {
  return folder ? folder->finish(index) : Status::success();
}
