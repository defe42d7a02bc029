// A recovery of one process, between a trainer's tensors.

#ifndef ETC_RUNTIME_CAPI_RECOVERY_H
#define ETC_RUNTIME_CAPI_RECOVERY_H

#include "capi/CallerDevice.h"
#include "capi/Migration.h"

#include "recovery/Agreement.h"
#include "recovery/Refill.h"
#include "recovery/Survey.h"

#include <map>

namespace etc::runtime {

/// What etc_recovery_options says, checked and copied.
struct RecoveryOptions {
  AgreementOptions agreement;
  etc_transport transport = ETC_TCP; // whose memory all state is in
  unsigned gpu = 0;
  Milliseconds timeout{};
  std::string tag, directory;
  etc_store store{};
  etc_set_first setFirst = nullptr;
  std::string restoreFrom;  // empty: from `restore`
  etc_box_source restore{}; // no functions: from nowhere
  int64_t restoreVersion = 0;
};

Result<RecoveryOptions> checkOptions(const etc_recovery_options &options);

/// Used by one thread at a time.
class Recovery {
public:
  static Result<std::unique_ptr<Recovery>> create(RecoveryOptions options);
  ~Recovery();

  Status hold(std::shared_ptr<const OpenPlan> plan, Side side);
  Status registerTensor(const char *type, const char *name, const void *data);
  Status hold(Migration &migration);
  Status agree();

  const Agreement &agreement() const { return agreement_; }
  const std::vector<uint32_t> &devices() const { return devices_; }
  /// Null where the members' common plan is not one of this process, which
  /// holds nothing then.
  const Survey *survey() const { return survey_ ? &*survey_ : nullptr; }
  /// The number of the plan that says what this process holds, or -1.
  int base() const;
  uint64_t restoredBytes() const;
  Result<const char *> inventory();

  Result<const void *> find(const OpenPlan &next, const char *type,
                            const char *name) const;
  Status fill(const OpenPlan &next, const char *type, const char *name,
              void *data) const;

  Rendezvous &rendezvous() { return *meeting; }
  std::string received; // what get() returned last

private:
  /// A plan that says what this process holds.
  struct Base {
    std::shared_ptr<const OpenPlan> plan;
    Standing standing;
    const Migration *migration = nullptr;         // not owned
    std::map<uint32_t, const std::byte *> memory; // by tensor, without one
  };

  explicit Recovery(RecoveryOptions options) : options(std::move(options)) {}

  Status add(Base base);
  const Base *findBase(uint64_t plan) const;
  std::optional<VersionedCheckpoint> versioned() const;
  Status checkMembers(const std::vector<RecoveryMember> &members) const;
  /// Of another version than all go on from: nothing.
  HeldMemory held() const;

  RecoveryOptions options;
  cuda::KeptContext leaving; // which is restored when the worker has gone
  std::unique_ptr<Worker> worker;
  std::atomic<bool> isStopped{false};
  std::unique_ptr<Rendezvous> meeting;
  std::unique_ptr<const BoxSource> checkpoint;
  std::vector<Base> bases;
  Agreement agreement_;
  std::vector<uint32_t> devices_;
  const Base *common = nullptr;
  std::optional<Survey> survey_;
  std::string json;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CAPI_RECOVERY_H
