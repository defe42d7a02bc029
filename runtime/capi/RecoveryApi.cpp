// Recoveries through the C API.

#include "capi/Recovery.h"

using namespace etc::runtime;

struct etc_recovery {
  std::unique_ptr<Recovery> recovery;
};

/// After the agreement: what it says.
template <typename Body>
static etc_error *whenAgreed(const etc_recovery *recovery, Body body) {
  return guarded([&]() -> Status {
    if (recovery->recovery->devices().empty())
      return Status(ErrorKind::Usage, "etc_recovery_agree() comes first");
    return body(*recovery->recovery);
  });
}

/// Assigns a value, or returns the error.
template <typename T, typename U>
static Status assign(const Result<T> &value, U *to) {
  if (!value)
    return value.status();
  *to = *value;
  return Status::success();
}

extern "C" {

etc_error *etc_recovery_create(const etc_recovery_options *options,
                               etc_recovery **recovery) {
  return guarded([&]() -> Status {
    if (!recovery)
      return Status(ErrorKind::Usage,
                    "etc_recovery_create: an argument is NULL");
    auto given = copyIn(options, "etc_recovery_options");
    if (!given)
      return given.status();
    Result<RecoveryOptions> checked = checkOptions(*given);
    if (!checked)
      return checked.status();
    auto made = Recovery::create(std::move(*checked));
    if (!made)
      return made.status();
    *recovery = new etc_recovery{std::move(*made)};
    return Status::success();
  });
}

etc_error *etc_recovery_hold_plan(etc_recovery *recovery, const etc_plan *plan,
                                  etc_side side) {
  return guarded(
      [&] { return recovery->recovery->hold(plan->open, sideOf(side)); });
}

etc_error *etc_recovery_register(etc_recovery *recovery, const char *type,
                                 const char *name, const void *data) {
  return guarded(
      [&] { return recovery->recovery->registerTensor(type, name, data); });
}

etc_error *etc_recovery_hold_migration(etc_recovery *recovery,
                                       const etc_migration *migration) {
  return guarded(
      [&] { return recovery->recovery->hold(*migration->migration); });
}

etc_error *etc_recovery_agree(etc_recovery *recovery) {
  return guarded([&] { return recovery->recovery->agree(); });
}

uint32_t etc_recovery_generation(const etc_recovery *recovery) {
  return recovery->recovery->agreement().generation;
}

const uint32_t *etc_recovery_devices(const etc_recovery *recovery,
                                     size_t *count) {
  *count = recovery->recovery->devices().size();
  return recovery->recovery->devices().data();
}

int etc_recovery_base(const etc_recovery *recovery) {
  return recovery->recovery->base();
}

etc_error *etc_recovery_state(const etc_recovery *recovery,
                              etc_recovered *state) {
  return whenAgreed(recovery, [&](Recovery &agreed) -> Status {
    const Survey *survey = agreed.survey();
    if (!survey)
      return Status(ErrorKind::Usage, "this process takes the plan from "
                                      "another one");
    etc_recovered made{};
    made.dropped_devices = survey->dropped.size();
    made.version = survey->version;
    made.restored_boxes = survey->restored.size();
    made.restored_bytes = agreed.restoredBytes();
    return copyOut(made, state, "etc_recovered");
  });
}

etc_error *etc_recovery_inventory(const etc_recovery *recovery,
                                  const char **json) {
  return whenAgreed(recovery, [&](Recovery &agreed) {
    return assign(agreed.inventory(), json);
  });
}

etc_error *etc_recovery_find(const etc_recovery *recovery, const etc_plan *next,
                             const char *type, const char *name,
                             const void **data) {
  return whenAgreed(recovery, [&](Recovery &agreed) {
    return assign(agreed.find(*next->open, type, name), data);
  });
}

etc_error *etc_recovery_fill(const etc_recovery *recovery, const etc_plan *next,
                             const char *type, const char *name, void *data) {
  return whenAgreed(recovery, [&](Recovery &agreed) {
    return agreed.fill(*next->open, type, name, data);
  });
}

etc_error *etc_recovery_put(etc_recovery *recovery, const char *name,
                            const void *data, size_t size) {
  return whenAgreed(recovery, [&](Recovery &agreed) {
    return agreed.rendezvous().put(
        keyOf(agreed.agreement().generation, name),
        std::string(static_cast<const char *>(data), size));
  });
}

etc_error *etc_recovery_get(etc_recovery *recovery, const char *name,
                            double timeout_seconds, const void **data,
                            size_t *size) {
  return whenAgreed(recovery, [&](Recovery &agreed) -> Status {
    Result<std::string> value = agreed.rendezvous().get(
        keyOf(agreed.agreement().generation, name),
        Deadline(Milliseconds(static_cast<int64_t>(timeout_seconds * 1000))));
    if (!value)
      return value.status();
    agreed.received = std::move(*value);
    *data = agreed.received.data();
    *size = agreed.received.size();
    return Status::success();
  });
}

void etc_recovery_free(etc_recovery *recovery) { delete recovery; }

} // extern "C"
