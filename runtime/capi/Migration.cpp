#include "capi/Migration.h"

#include "capi/TensorInfo.h"
#include "core/device/CudaWorker.h"
#include "core/device/HostWorker.h"
#include "job/PeerControl.h"

using namespace etc::runtime;

static Milliseconds milliseconds(double seconds) {
  return Milliseconds(
      std::max<int64_t>(1, static_cast<int64_t>(seconds * 1000)));
}

Result<MigrationOptions> etc::runtime::checkOptions(const etc_options &given,
                                                    const PlanIndex &index) {
  auto refuse = [](const std::string &what) {
    return Status(ErrorKind::Usage, what);
  };
  if (given.participant >= index.rankCount())
    return refuse(text("participant ", given.participant, ": the plan has ",
                       index.rankCount(), " participants"));
  if (!index.hasProgramOf(given.participant))
    return refuse(text("participant ", given.participant,
                       ": the plan is the slice of participant ",
                       index.plan().slice()->rank()));
  if (given.transport != ETC_TCP && given.transport != ETC_NCCL)
    return refuse(
        text("transport ", given.transport, ": expected ETC_TCP or ETC_NCCL"));
  if (given.transport == ETC_NCCL && index.hasTail())
    return refuse("the plan defers state, and NCCL's kernels of the tail may "
                  "wait for a peer behind those of training; plan with "
                  "defer=none");
  if (given.mode != ETC_EAGER && given.mode != ETC_SAFE)
    return refuse(
        text("mode ", given.mode, ": expected ETC_EAGER or ETC_SAFE"));
  if (!(given.timeout_seconds >= 0 && given.timeout_seconds < 1e9))
    return refuse(text("timeout_seconds ", given.timeout_seconds,
                       ": expected seconds, or 0 for the default"));
  if (!(given.meeting_seconds >= 0 && given.meeting_seconds < 1e9))
    return refuse(text("meeting_seconds ", given.meeting_seconds,
                       ": expected seconds, or 0 for timeout_seconds"));
  if (!(given.silence_seconds < 1e9) ||
      (given.silence_seconds > 0 && given.silence_seconds < 1))
    return refuse(text("silence_seconds ", given.silence_seconds,
                       ": expected 1 or more, 0 for the default, or a negative "
                       "number for never"));
  if (given.encrypt > 1 || (given.encrypt && given.transport != ETC_TCP))
    return refuse(text("encrypt ", given.encrypt, " over ",
                       given.transport == ETC_TCP ? "TCP" : "NCCL",
                       ": expected 0, or 1 over TCP"));
  const bool hasStore = given.store.set && given.store.get;
  if (!hasStore && !given.directory && index.rankCount() > 1)
    return refuse("participants have no way to find each other: set store or "
                  "directory");
  MigrationOptions options;
  const double seconds =
      given.timeout_seconds > 0 ? given.timeout_seconds : 300;
  options.bootstrap.rank = given.participant;
  options.bootstrap.transport = given.transport;
  options.bootstrap.mode = given.mode;
  options.bootstrap.gpu = static_cast<unsigned>(std::max(given.gpu, 0));
  options.bootstrap.isEncrypted = given.encrypt != 0;
  options.bootstrap.host = given.host ? given.host : "";
  options.bootstrap.timeout = milliseconds(seconds);
  options.bootstrap.meeting =
      milliseconds(given.meeting_seconds > 0 ? given.meeting_seconds : seconds);
  options.bootstrap.generation = given.generation;
  options.bootstrap.silence =
      given.silence_seconds < 0    ? Milliseconds::max() / 2
      : given.silence_seconds == 0 ? Milliseconds(5000)
                                   : milliseconds(given.silence_seconds);
  options.tag = given.tag ? given.tag : "etc";
  options.store = hasStore ? given.store : etc_store{};
  options.directory = given.directory ? given.directory : "";
  options.memory = given.memory;
  options.progress = given.progress;
  options.progressContext = given.progress_context;
  return options;
}

Result<std::unique_ptr<Migration>>
Migration::create(std::shared_ptr<const OpenPlan> plan,
                  MigrationOptions options) {
  std::unique_ptr<Worker> worker;
  if (options.bootstrap.transport == ETC_NCCL) {
    Result<std::unique_ptr<Worker>> made =
        makeCudaWorker(options.bootstrap.gpu);
    if (!made)
      return made.status();
    worker = std::move(*made);
  } else {
    worker = makeHostWorker();
  }
  return std::unique_ptr<Migration>(
      new Migration(std::move(plan), std::move(options), std::move(worker)));
}

Migration::Migration(std::shared_ptr<const OpenPlan> given,
                     MigrationOptions options, std::unique_ptr<Worker> device)
    : plan(std::move(given)), options(std::move(options)), index(plan->index()),
      inner(std::move(device)),
      memory(index, index.participant(this->options.bootstrap.rank).program,
             this->options.memory, inner->allocator()),
      worker(*inner, memory) {}

/// Who frees a migration before its end gives it up.
Migration::~Migration() {
  if (!tail.joinable())
    return;
  if (stage == Stage::Tail)
    abort("the migration was freed before finish");
  tail.join();
}

Status Migration::expectStage(Stage expected, const char *what) const {
  if (stage == expected)
    return Status::success();
  static const char *const names[] = {"is not prepared", "is prepared already",
                                      "has run, but not finished", "has run",
                                      "has failed"};
  return Status(ErrorKind::Usage, text("cannot ", what, ": the migration ",
                                       names[static_cast<int>(stage.load())]));
}

Status Migration::registerTensor(const char *type, const char *name,
                                 const etc_tensor &tensor) {
  if (Status s = expectStage(Stage::Registering, "register"); !s.ok())
    return s;
  std::optional<size_t> position = memory.find(type, name);
  if (!position)
    return Status(ErrorKind::Usage,
                  text(name, " (", type, "): device ",
                       index.device(options.bootstrap.rank),
                       " holds no such tensor before the migration"));
  if (Status s = checkTensor(tensor, memory.describePrev(*position)); !s.ok())
    return s;
  memory.registerPrev(*position, tensor.data);
  return Status::success();
}

/// After an error nothing more is possible, and the peers' waits end.
Status Migration::attempt(const std::function<Status()> &body, Stage next) {
  Status status = Status::success();
  try {
    status = body();
  } catch (const std::exception &error) {
    status = Status(ErrorKind::Usage, error.what());
  }
  stage = status.ok() ? next : Stage::Failed;
  return status.ok() ? status : giveUpAfter(status);
}

Status Migration::prepare() {
  if (Status s = expectStage(Stage::Registering, "prepare"); !s.ok())
    return s;
  // Nobody was told yet: what is missing can be mended.
  if (Status s = memory.complete(); !s.ok())
    return s.at(text("device ", index.device(options.bootstrap.rank)));
  return attempt([this] { return connectAndPrepare(); }, Stage::Prepared);
}

void Migration::meet() {
  rendezvous = std::make_unique<ChangeRendezvous>(
      options.store.set
          ? makeStore(options.store, options.tag)
          : makeDirectoryRendezvous(options.directory, options.tag, isAborted),
      options.bootstrap.rank, options.bootstrap.generation, isAborted);
}

Status Migration::refuse(std::string_view cause) {
  if (Status s = expectStage(Stage::Registering, "refuse"); !s.ok())
    return s;
  stage = Stage::Failed;
  meet();
  rendezvous->refuse(
      text("device ", index.device(options.bootstrap.rank), ": ", cause));
  return Status::success();
}

/// Others may wait there, and not for control yet.
Status Migration::callOff(const Status &error) {
  std::string cause = error.message();
  {
    std::lock_guard lock(mutex);
    if (!abortCause.empty())
      cause = abortCause;
    else if (isAborted || error.kind() != ErrorKind::Peer)
      cause =
          text("device ", index.device(options.bootstrap.rank), ": ", cause);
  }
  if (error.kind() != ErrorKind::Excluded)
    rendezvous->refuse(cause);
  return error;
}

Status Migration::connectAndPrepare() {
  meet();
  const BootstrapOptions &times = options.bootstrap;
  const Deadline deadline(times.meeting.count() > 0 ? times.meeting
                                                    : times.timeout);
  if (Status s = comparePlans(*plan, options.bootstrap, *rendezvous, deadline);
      !s.ok()) // all find out what they have not in common
    return isAborted ? callOff(s) : s;
  Result<Connections> connected =
      connect(*plan, options.bootstrap, *rendezvous, deadline);
  if (!connected)
    return callOff(connected.status());
  {
    std::lock_guard lock(mutex);
    connections = std::move(*connected);
    if (isAborted)
      connections.abort(abortCause);
  }
  RunOptions run;
  run.timeout = options.bootstrap.timeout;
  run.prepareBy = deadline;
  run.verify = Verify::Checksum; // there is no formula to compare with
  run.mode = options.bootstrap.mode == ETC_SAFE ? Mode::Safe : Mode::Eager;
  run.keeping.source = this;
  run.progress = &progress;
  run.observer = this;
  run_ = std::make_unique<DeviceRun>(
      index, options.bootstrap.rank, *connections.control,
      *connections.transport, worker, std::move(run));
  return run_->prepare();
}

Status Migration::run() {
  if (Status s = expectStage(Stage::Prepared, "run"); !s.ok())
    return s;
  if (index.hasTail())
    return attempt(
        [this] {
          Status status = run_->runPause();
          ofPause = run_->report();
          if (status.ok())
            tail = std::thread([this] { runTail(); });
          return status;
        },
        Stage::Tail);
  return attempt(
      [this] {
        Status status = run_->migrate();
        if (status.ok())
          memory.handOver();
        return status;
      },
      Stage::Done);
}

/// The peers learn of an error at once, the caller when it asks.
void Migration::runTail() {
  try {
    tailStatus = run_->runTail();
  } catch (const std::exception &error) {
    tailStatus = Status(ErrorKind::Usage, error.what());
  }
  if (!tailStatus.ok())
    tailStatus = giveUpAfter(tailStatus);
}

Status Migration::finish() {
  if (stage == Stage::Done)
    return Status::success();
  if (Status s = expectStage(Stage::Tail, "finish"); !s.ok())
    return s;
  tail.join();
  if (!tailStatus.ok()) {
    stage = Stage::Failed;
    return tailStatus;
  }
  return attempt(
      [this] {
        Status status = run_->finish();
        if (status.ok())
          memory.handOver();
        return status;
      },
      Stage::Done);
}

Status Migration::giveUpAfter(const Status &error) {
  Status told = error;
  if (connections.control)
    told = giveUp(*connections.control, index.device(options.bootstrap.rank),
                  error);
  abort({});
  // Only now: over NCCL this waits for the others, who have been told.
  if (connections.transport && !connections.transport->stop())
    isUnreadable = true;
  return told;
}

void Migration::abort(std::string_view cause) {
  std::lock_guard lock(mutex);
  if (!cause.empty() && abortCause.empty())
    abortCause =
        text("device ", index.device(options.bootstrap.rank), ": ", cause);
  isAborted = true;
  connections.abort(cause.empty() ? std::string() : abortCause);
}

etc_outcome Migration::outcome() const {
  if (stage == Stage::Done)
    return ETC_NEW;
  if (isUnreadable)
    return ETC_UNREADABLE;
  if (memory.hasReleased())
    return ETC_MIXED;
  return hasBegun ? ETC_OLD : ETC_NOT_BEGUN;
}

Standing Migration::standing() const {
  Standing standing = run_ ? run_->reached() : Standing();
  standing.isFilled = true; // registered
  standing.released =
      options.bootstrap.mode == ETC_SAFE ? 0 : standing.acknowledged;
  return standing;
}

const std::byte *Migration::find(const HeldShard &held) const {
  if (held.side != Side::Transit)
    return memory.findNamed(memoryName(held));
  return run_->tensors()
      .around(Side::Transit, held.tensor, index.shardBox(held.shard, 0))
      .data;
}

void Migration::enter(uint32_t, uint32_t round, Phase phase) {
  if (phase == Phase::Pack)
    hasBegun = true;
  if (!options.progress || (phase != Phase::Pack && phase != Phase::Done))
    return;
  const auto &program =
      index.program(index.participant(options.bootstrap.rank).program);
  options.progress(options.progressContext, round, program.rounds()->size(),
                   progress.receivedBytes);
}

Status Migration::current(size_t position, void **data, int *stayed) const {
  const auto &participant = index.participant(options.bootstrap.rank);
  const size_t count = index.holdings(participant.program, Side::Curr).size();
  if (position >= count)
    return Status(ErrorKind::Usage,
                  text("the device holds ", count,
                       " current tensors, there is no number ", position));
  const uint32_t tensor =
      index.holdings(participant.program, Side::Curr)[position].tensor;
  if (stage != Stage::Done &&
      (stage != Stage::Tail || index.tensor(tensor).deferred()))
    return Status(
        ErrorKind::Usage,
        text(index.describeTensor(tensor), " is there when etc_migration_",
             index.tensor(tensor).deferred() ? "finish" : "run", "() is over"));
  auto [pointer, isOld] = memory.current(position);
  if (data)
    *data = pointer;
  if (stayed)
    *stayed = isOld;
  return Status::success();
}
