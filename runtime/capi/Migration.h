// A migration of one participant, between a trainer's tensors.

#ifndef ETC_RUNTIME_CAPI_MIGRATION_H
#define ETC_RUNTIME_CAPI_MIGRATION_H

#include "capi/Bootstrap.h"
#include "capi/CallerMemory.h"

#include "core/device/SharedWorker.h"
#include "core/engine/DeviceRun.h"

#include <mutex>
#include <thread>

namespace etc::runtime {

/// What etc_options says, checked and copied.
struct MigrationOptions {
  BootstrapOptions bootstrap;
  std::string tag, directory;
  etc_store store{};
  etc_memory memory{};
  etc_progress progress = nullptr;
  void *progressContext = nullptr;
};

Result<MigrationOptions> checkOptions(const etc_options &options,
                                      const PlanIndex &index);

/// Used by one thread at a time, abort() aside.
class Migration final : public Observer, public StateSource {
public:
  static Result<std::unique_ptr<Migration>>
  create(std::shared_ptr<const OpenPlan> plan, MigrationOptions options);
  ~Migration() override;

  Status registerTensor(const char *type, const char *name,
                        const etc_tensor &tensor);
  Status prepare();
  /// Instead of prepare(): the others, who may be waiting, learn why.
  Status refuse(std::string_view cause);
  /// Between prepare() and run(), without waiting: the error of a participant
  /// that failed, which ends the migration.
  Status check();
  /// Where the plan defers state, returns when the others have their
  /// parameters, too; a thread goes on with the rest.
  Status run();
  /// Instead of run(): a thread does all of it, and waitFor() says what is
  /// there. finish() ends it.
  Status start();
  /// Waits until the current tensor of this position is there, while that
  /// thread goes on.
  Status waitFor(size_t position);
  /// Waits for that thread. Nothing is left to do where nothing is deferred.
  Status finish();
  /// The others learn `cause`, with this device before it; any thread may call
  /// it.
  void abort(std::string_view cause);

  /// Any thread may ask.
  etc_outcome outcome() const;
  /// After an error, where the device did not stop in time: gives up staging,
  /// and what nothing has landed in, once it has.
  void tidy();
  /// What this device holds, and the memory of it; between calls of run().
  Standing standing() const;
  const std::byte *find(const HeldShard &held) const;
  /// Whether a thread moves the rest, or all is there that finish() commits.
  bool isAtTail() const {
    return stage == Stage::Tail &&
           (!run_->arrivals().isOver() || tailStatus.ok());
  }
  bool isOnHost() const { return options.bootstrap.transport == ETC_TCP; }
  unsigned gpu() const { return options.bootstrap.gpu; }
  const std::shared_ptr<const OpenPlan> &openPlan() const { return plan; }
  uint32_t device() const { return index.device(options.bootstrap.rank); }
  Status current(size_t position, void **data, int *stayed) const;
  /// With what is known of the rounds so far.
  etc_report report() const;

private:
  enum class Stage { Registering, Prepared, Tail, Done, Failed };

  Migration(std::shared_ptr<const OpenPlan> plan, MigrationOptions options,
            std::unique_ptr<Worker> worker);

  bool hasSharedDevice() const;
  Status expectStage(Stage expected, const char *what) const;
  void meet();
  Status connectAndPrepare();
  void runApart(bool isPauseOver);
  bool hasStopped() const;
  bool giveUpMemory();
  Status checkPosition(size_t position) const;
  Status callOff(const Status &error);
  /// Returns the cause: of another participant where that gave one.
  Status giveUpAfter(const Status &error);
  Status attempt(const std::function<Status()> &body, Stage next);
  void enter(uint32_t device, uint32_t round, Phase phase) override;
  /// The previous state is where it is read from.
  Result<uint64_t> read(const PlanIndex &, uint32_t, uint32_t,
                        Region) const override {
    return 0;
  }
  /// Nobody knows what it has to be but those who send it: sums are compared.
  Status check(const PlanIndex &, uint32_t, uint32_t,
               ConstRegion) const override {
    return Status::success();
  }

  cuda::KeptContext leaving; // after all else is gone
  const std::shared_ptr<const OpenPlan> plan;
  const MigrationOptions options;
  const PlanIndex &index;
  const std::unique_ptr<Worker> inner;
  CallerMemory memory;
  SharedWorker shared; // in the tail two threads move
  CallerWorker worker;
  std::unique_ptr<ChangeRendezvous> rendezvous; // from prepare() on
  mutable std::mutex mutex; // of what abort() touches, and of `ofPause`
  Connections connections;
  std::string abortCause;
  std::atomic<bool> isAborted{false};
  Progress progress;
  std::unique_ptr<DeviceRun> run_; // gone before what it uses
  std::atomic<Stage> stage{Stage::Registering};
  std::atomic<bool> hasBegun{false}; // the first round
  std::atomic<bool> isUnreadable{false};
  std::thread tail;                      // of what run() leaves
  DeviceReport ofPause;                  // while that thread changes the report
  Status tailStatus = Status::success(); // once it has ended
};

} // namespace etc::runtime

struct etc_migration {
  std::unique_ptr<etc::runtime::Migration> migration;
};

#endif // ETC_RUNTIME_CAPI_MIGRATION_H
