#include "Process.h"

#include "Devices.h"
#include "Exit.h"
#include "TraceFile.h"

#include "core/engine/Describe.h"
#include "core/plan/Fingerprint.h"
#include "core/plan/SystemError.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>
#include <unistd.h>

using namespace etc::run;
using namespace etc::runtime;

static_assert(std::is_trivially_copyable_v<Outcome>,
              "outcomes travel between processes as they are");

void Outcome::set(const Status &status) {
  isSet = true;
  kind = status.kind();
  size_t length = std::min(status.message().size(), sizeof message - 1);
  std::memcpy(message, status.message().data(), length);
  message[length] = 0;
}

Status Outcome::status() const {
  return kind == ErrorKind::None ? Status::success() : Status(kind, message);
}

void Outcome::tell(const Status &written) {
  if (kind != ErrorKind::None || written.ok())
    return;
  set(written);
  kind = ErrorKind::None;
  isUntold = true;
}

Status Outcome::told() const {
  return isUntold ? Status(ErrorKind::Usage, message) : Status::success();
}

void Session::leave() {
  if (client)
    client->onStop({});
  connections.transport.reset(); // it may ask the control
  connections.control.reset();
  if (client)
    client->leave();
}

Session::~Session() {
  if (isEnding.test_and_set())
    while (true)
      ::pause();
  // The hub waits for everybody to say goodbye, this process included, which
  // gives signs of life all the while.
  leave();
  // Who finds no file where all have met knows that this process has told the
  // user; where they have not, who comes late is told why.
  const bool haveMet = client != nullptr;
  if (withdraw && haveMet)
    withdraw();
  hub.reset();
  client.reset();
  if (withdraw && !haveMet)
    withdraw();
}

Milliseconds etc::run::stateTime(const PlanIndex &index,
                                 const Options &options) {
  uint64_t most = 0;
  for (uint32_t p = 0; p != index.programCount(); ++p)
    most = std::max(most, index.program(p).peak());
  return Milliseconds(most / (options.floorRate / 1000 + 1));
}

DescribeLoss etc::run::describeLosses(const PlanIndex &index) {
  return [&index](uint32_t rank, uint32_t round) {
    std::string place = text("device ", index.device(rank), ": ");
    if (round == ~uint32_t{0})
      return place + "before the first round";
    if (!index.hasProgramOf(rank))
      return place + text("round ", round);
    if (round >=
        index.program(index.participant(rank).program).rounds()->size())
      return place + "commit";
    return place + describeLoss(index, rank, round);
  };
}

namespace {

/// Tells the control channel, the outcome and whoever else asks where a device
/// is.
class Noter final : public Observer {
public:
  Noter(Client &client, Outcome &outcome, Observer *next)
      : client(client), outcome(outcome), next(next) {}

  void enter(uint32_t device, uint32_t round, Phase phase) override {
    if (phase != Phase::Fill) {
      // A round that has begun early is not yet where the device is.
      const uint32_t at = std::min(round, first);
      first = phase == Phase::Release ? round + 1 : at;
      outcome.round = at;
      client.note(at);
    }
    if (next)
      next->enter(device, round, phase);
  }

private:
  Client &client;
  Outcome &outcome;
  Observer *next;
  uint32_t first = ~uint32_t{0}; // round that has not ended
};

Hello makeHello(const PlanIndex &index, uint32_t rank,
                const RunOptions &options) {
  Hello hello;
  hello.planHash = etc::plan::fingerprint(index);
  hello.rank = rank;
  hello.rankCount = index.rankCount();
  hello.mode = options.mode;
  hello.isResumed = options.keeping.isResumed();
  if (hello.isResumed)
    setStanding(hello, options.keeping.standings[rank]);
  return hello;
}

Result<std::unique_ptr<Client>> join(const PlanIndex &index, uint32_t rank,
                                     Meeting &meeting, const Options &options,
                                     const RunOptions &runOptions,
                                     Outcome &outcome, Session &session,
                                     std::atomic<uint32_t> *beats) {
  const ControlTimes times{options.timeout, kBeatTime, options.silence};
  if (rank == 0)
    session.hub = std::make_unique<Hub>(
        std::move(meeting.listener),
        HubOptions{describe(meeting, options), meeting.secret,
                   index.rankCount(), times, describeLosses(index),
                   session.onUnmet});
  auto endNow = [&outcome, &session](const Status &cause, bool isHubLost) {
    if (session.isEnding.test_and_set())
      return;
    outcome.set(cause);
    const bool tells = session.isReporter && session.isReporter(isHubLost);
    const int code = tells ? fail(cause) : exitCode(cause);
    session.hub.reset(); // the others may end
    ::_exit(code);
  };
  return Client::join({meeting.address, meeting.secret,
                       makeHello(index, rank, runOptions), times,
                       describeLosses(index), endNow,
                       [beats] {
                         if (beats)
                           ++*beats;
                       },
                       rank == 0 ? Milliseconds(0) : session.goodbye},
                      &session.areAllTold);
}

/// Tells the others, where that is possible, and notes what all were told.
void failWith(const Status &status, Outcome &outcome, Session &session) {
  if (session.hub && !session.client)
    session.hub->giveUp(status);
  outcome.set(session.client ? session.client->fail(status) : status);
}

void runGuarded(const PlanIndex &index, uint32_t rank, Meeting &meeting,
                const Options &options, RunOptions runOptions, Outcome &outcome,
                Session &session, std::atomic<uint32_t> *beats) {
  auto client =
      join(index, rank, meeting, options, runOptions, outcome, session, beats);
  if (!client)
    return failWith(client.status(), outcome, session);
  session.client = std::move(*client);
  auto fail = [&](const Status &status) { failWith(status, outcome, session); };
  if (runOptions.keeping.isResumed())
    runOptions.keeping.standings = session.client->standings();
  auto worker = makeWorker(index, options, runOptions.keeping, rank);
  if (!worker)
    return fail(worker.status());
  session.client->onStop([&session] { session.isStopped = true; });
  auto connections =
      connect(index, options, rank, *session.client, session.isStopped);
  if (!connections)
    return fail(connections.status());
  session.connections = std::move(*connections);
  session.client->onStop([&session] { session.connections.abort(); });
  Noter noter(*session.client, outcome, runOptions.observer);
  runOptions.observer = &noter;
  TraceLog trace;
  runOptions.trace = options.trace.empty() ? nullptr : &trace;
  DeviceRun run(index, rank, *session.connections.control,
                *session.connections.transport, **worker,
                std::move(runOptions));
  Status status = run.prepare();
  if (status.ok())
    status = run.migrate();
  outcome.report = run.report();
  if (!status.ok()) {
    session.client->tell(status);
    session.connections.abort();
    return fail(status);
  }
  status = run.verify();
  Status told = status.ok() ? run.write() : Status::success();
  if (told.ok() && !options.trace.empty())
    told = writeTrace(tracePart(options.trace, rank), trace);
  outcome.report = run.report();
  outcome.set(status);
  outcome.tell(told);
}

} // namespace

void etc::run::runRank(const PlanIndex &index, uint32_t rank, Meeting &meeting,
                       const Options &options, RunOptions runOptions,
                       Outcome &outcome, Session &session,
                       std::atomic<uint32_t> *beats) {
  try {
    runGuarded(index, rank, meeting, options, std::move(runOptions), outcome,
               session, beats);
  } catch (const std::system_error &error) {
    const Status status(ErrorKind::Usage,
                        etc::plan::describeThreadError(error));
    // What the others find when the connections end comes after it.
    if (session.client)
      session.client->tell(status);
    session.connections.abort();
    failWith(status, outcome, session);
  }
}

/// Rank 0 learns how all others fared, when none has failed to migrate.
static void gatherOutcomes(const PlanIndex &index, RankAndCount self,
                           const Outcome &mine, Session &session,
                           const Options &options, RunResult &result) {
  std::vector<Outcome> all(self.rank == 0 ? self.count : 0);
  // A device may have more to check, and to write, than this one.
  Status gathered = gather(*session.connections.control, self,
                           std::as_bytes(std::span(&mine, 1)),
                           std::as_writable_bytes(std::span(all)),
                           options.timeout + stateTime(index, options));
  if (result.status.ok() && !gathered.ok())
    result.status = session.client->fail(gathered);
  for (const Outcome &outcome : all) {
    result.reports.push_back(outcome.report);
    if (result.status.ok())
      result.status = outcome.status();
    if (result.told.ok())
      result.told = outcome.told();
  }
}

/// Whether this process tells the user where rank 0 is lost. Others may be lost
/// with it, so nobody knows who is left: in a directory, it is the one that
/// removes rank 0's file; without one, each tells.
static bool claimsReport(const Options &options, const Meeting &meeting) {
  return options.rendezvous.empty() ||
         withdrawMeeting(options.rendezvous, meeting);
}

/// How long rank 0 may take to tell the user what all were told.
static constexpr Milliseconds kTelling{5000};

/// Leaves when rank 0 has told the user: a launcher may end it once any other
/// process has ended. Whether this process has to tell, since rank 0 is lost.
static bool outlivesRankZero(Session &session) {
  if (session.isReporter(session.client->isHubLost()))
    return true;
  session.leave();
  return !session.client->awaitGoodbye(kTelling) && session.isReporter(true);
}

RunResult etc::run::runLaunched(const PlanIndex &index, RankAndCount self,
                                const Options &options,
                                const RunOptions &runOptions) {
  RunResult result;
  Result<Meeting> meeting = findMeeting(self, options);
  if (!meeting) {
    result.status = meeting.status();
    return result;
  }
  struct Part {
    Outcome mine;
    Meeting meeting;
    Session session;
  };
  auto part = std::make_shared<Part>();
  Outcome &mine = part->mine;
  Session &session = part->session;
  session.goodbye = kTelling;
  part->meeting = std::move(*meeting);
  session.isReporter = [self, &options, &at = part->meeting](bool isHubLost) {
    return self.rank == 0 || (isHubLost && claimsReport(options, at));
  };
  session.onUnmet = [&session](const Status &why) {
    (void)fail(why);
    session.isTold = true;
  };
  if (self.rank == 0) {
    result.part = part;
    if (!options.rendezvous.empty())
      session.withdraw = [where = options.rendezvous, &at = part->meeting] {
        (void)withdrawMeeting(where, at);
      };
  }
  runRank(index, self.rank, part->meeting, options, runOptions, mine, session);
  if (!session.client)
    session.hub.reset(); // the others are told why, which have to find it
  result.status = mine.status();
  result.told = mine.told();
  const bool hasMigrated =
      result.status.ok() || result.status.kind() == ErrorKind::Verification;
  if (hasMigrated)
    gatherOutcomes(index, self, mine, session, options, result);
  if (session.client)
    result.isSilent = !outlivesRankZero(session);
  else
    result.isSilent =
        session.isTold || (session.areAllTold && !session.isReporter(false));
  return result;
}
