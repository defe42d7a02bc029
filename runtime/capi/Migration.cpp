#include "capi/Migration.h"

#include "capi/CallerDevice.h"
#include "capi/TensorInfo.h"
#include "job/PeerControl.h"

#include <new>

using namespace etc::runtime;

Result<std::unique_ptr<Migration>>
Migration::create(std::shared_ptr<const OpenPlan> plan,
                  MigrationOptions options) {
  const etc_transport transport = options.bootstrap.transport;
  const cuda::KeptContext kept(driverOf(transport));
  Result<std::unique_ptr<Worker>> worker =
      makeWorker(transport, options.bootstrap.gpu);
  if (!worker)
    return worker.status();
  return std::unique_ptr<Migration>(
      new Migration(std::move(plan), std::move(options), std::move(*worker)));
}

Migration::Migration(std::shared_ptr<const OpenPlan> given,
                     MigrationOptions options, std::unique_ptr<Worker> device)
    : plan(std::move(given)), options(std::move(options)), index(plan->index()),
      inner(std::move(device)),
      memory(index, index.participant(this->options.bootstrap.rank).program,
             this->options.memory, inner->allocator()),
      shared(*inner, [this] { return isAborted.load(); }),
      worker(hasSharedDevice() ? static_cast<Worker &>(shared) : *inner,
             memory) {}

/// Host memory any number of threads may use at a time.
bool Migration::hasSharedDevice() const {
  return !isOnHost() && index.hasTail();
}

/// Who frees a migration before its end gives it up.
Migration::~Migration() {
  leaving.note(driverOf(options.bootstrap.transport));
  if (!tail.joinable())
    return;
  if (stage == Stage::Tail)
    abort("the migration was freed before finish");
  tail.join();
}

Status Migration::expectStage(Stage expected, const char *what) const {
  const Stage now = stage;
  if (now == expected)
    return Status::success();
  const bool isBefore = now < expected;
  static const char *const names[] = {"is not prepared", "is prepared already",
                                      "has run, but not finished", "has run",
                                      "has failed"};
  const char *next = !isBefore ? ""
                     : now == Stage::Registering
                         ? "; etc_migration_prepare() comes first"
                         : "; etc_migration_run() comes first";
  return Status(ErrorKind::Usage, text("cannot ", what, ": the migration ",
                                       isBefore && now == Stage::Prepared
                                           ? "has not run"
                                           : names[static_cast<int>(now)],
                                       next));
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
  const cuda::KeptContext kept(driverOf(options.bootstrap.transport));
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
  Result<uint64_t> slowest =
      comparePlans(*plan, options.bootstrap, *rendezvous, deadline);
  if (!slowest) // all find out what they have not in common
    return isAborted ? callOff(slowest.status()) : slowest.status();
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
  run.verify = Verify::Checksum;
  run.mode = options.bootstrap.mode == ETC_SAFE ? Mode::Safe : Mode::Eager;
  run.keeping.source = this;
  run.tailRate = options.bootstrap.tailRate;
  run.slowestTail = *slowest;
  run.tail = connections.tail.get();
  run.progress = &progress;
  run.observer = this;
  run_ = std::make_unique<DeviceRun>(
      index, options.bootstrap.rank, *connections.control,
      *connections.transport, worker, std::move(run));
  return run_->prepare();
}

Status Migration::check() {
  if (Status s = expectStage(Stage::Prepared, "check"); !s.ok())
    return s;
  return attempt(
      [this] {
        if (Status s = connections.control->check(); !s.ok())
          return s;
        return isAborted ? Status(ErrorKind::Peer, abortCause)
                         : Status::success();
      },
      Stage::Prepared);
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
            tail = std::thread([this] { runApart(/*isPauseOver=*/true); });
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

Status Migration::start() {
  if (Status s = expectStage(Stage::Prepared, "start"); !s.ok())
    return s;
  if (!isOnHost())
    return Status(ErrorKind::Usage,
                  "cannot start: over NCCL parameters move in a pause, since a "
                  "kernel that waits for a peer may be queued behind one of "
                  "training; call run");
  return attempt(
      [this] {
        ofPause = run_->report();
        tail = std::thread([this] { runApart(/*isPauseOver=*/false); });
        return Status::success();
      },
      Stage::Tail);
}

/// The peers learn of an error at once, the caller when it asks.
void Migration::runApart(bool isPauseOver) {
  try {
    if (!isPauseOver) {
      tailStatus = run_->runPause();
      std::lock_guard lock(mutex);
      ofPause = run_->report();
    }
    if (tailStatus.ok())
      tailStatus = run_->runTail();
  } catch (const std::exception &error) {
    tailStatus = Status(ErrorKind::Usage, error.what());
  }
  if (!tailStatus.ok())
    tailStatus = giveUpAfter(tailStatus);
  run_->arrivals().stop();
}

Status Migration::waitFor(size_t position) {
  if (Status s = checkPosition(position); !s.ok())
    return s;
  if (stage == Stage::Done)
    return Status::success();
  if (Status s = expectStage(Stage::Tail, "wait"); !s.ok())
    return s;
  // Where it does not come, the thread is about to end.
  return run_->arrivals().wait(position) ? Status::success() : tailStatus;
}

Status Migration::finish() {
  if (stage == Stage::Done)
    return Status::success();
  if (Status s = expectStage(Stage::Tail, "finish"); !s.ok())
    return s;
  run_->hurry();
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
  isUnreadable = !giveUpMemory();
  return told;
}

/// All that holds nothing: a recovery needs the room. False where the device
/// may still write to it.
bool Migration::giveUpMemory() {
  if (!run_)
    return true;
  if (!run_->stop())
    return false;
  const uint32_t program = index.participant(options.bootstrap.rank).program;
  try {
    run_->releaseAllBut(heldShards(index, program, standing()));
  } catch (const std::bad_alloc &) {
    // The error may have been that there is no memory left: nothing goes then.
  }
  return true;
}

void Migration::tidy() {
  const cuda::KeptContext kept(driverOf(options.bootstrap.transport));
  if (isUnreadable && run_->hasStopped() && giveUpMemory())
    isUnreadable = false;
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
  if (isUnreadable && !hasStopped())
    return ETC_UNREADABLE;
  if (memory.hasReleased())
    return ETC_MIXED;
  return hasBegun ? ETC_OLD : ETC_NOT_BEGUN;
}

/// What did not end in time may have ended since, as when a process of the node
/// that was stopped has died.
bool Migration::hasStopped() const {
  const cuda::KeptContext kept(driverOf(options.bootstrap.transport));
  return run_->hasStopped();
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

Status Migration::checkPosition(size_t position) const {
  const uint32_t program = index.participant(options.bootstrap.rank).program;
  const size_t count = index.holdings(program, Side::Curr).size();
  if (position < count)
    return Status::success();
  return Status(ErrorKind::Usage,
                text("the device holds ", count,
                     " current tensors, there is no number ", position));
}

Status Migration::current(size_t position, void **data, int *stayed) const {
  if (Status s = checkPosition(position); !s.ok())
    return s;
  const uint32_t program = index.participant(options.bootstrap.rank).program;
  const uint32_t tensor = index.holdings(program, Side::Curr)[position].tensor;
  if (stage != Stage::Done &&
      (stage != Stage::Tail || !run_->arrivals().has(position)))
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
