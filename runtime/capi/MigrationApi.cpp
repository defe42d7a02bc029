// Migrations through the C API.

#include "capi/Migration.h"

using namespace etc::runtime;

extern "C" {

etc_error *etc_migration_create(const etc_plan *plan,
                                const etc_options *options,
                                etc_migration **migration) {
  return guarded([&]() -> Status {
    if (!plan || !migration)
      return Status(ErrorKind::Usage,
                    "etc_migration_create: an argument is NULL");
    Result<etc_options> given = copyIn(options, "etc_options");
    if (!given)
      return given.status();
    Result<MigrationOptions> checked =
        checkOptions(*given, plan->open->index());
    if (!checked)
      return checked.status();
    auto made = Migration::create(plan->open, std::move(*checked));
    if (!made)
      return made.status();
    *migration = new etc_migration{std::move(*made)};
    return Status::success();
  });
}

etc_error *etc_migration_register(etc_migration *migration, const char *type,
                                  const char *name, const etc_tensor *tensor) {
  return guarded([&]() -> Status {
    if (!type || !name)
      return Status(ErrorKind::Usage,
                    "etc_migration_register: an argument is NULL");
    Result<etc_tensor> given = copyIn(tensor, "etc_tensor");
    if (!given)
      return given.status();
    return migration->migration->registerTensor(type, name, *given);
  });
}

etc_error *etc_migration_prepare(etc_migration *migration) {
  return guarded([&] { return migration->migration->prepare(); });
}

etc_error *etc_migration_refuse(etc_migration *migration, const char *cause) {
  return guarded([&] {
    return migration->migration->refuse(
        cause && *cause ? cause : "it cannot take part");
  });
}

etc_error *etc_migration_run(etc_migration *migration) {
  return guarded([&] { return migration->migration->run(); });
}

etc_error *etc_migration_start(etc_migration *migration) {
  return guarded([&] { return migration->migration->start(); });
}

etc_error *etc_migration_wait(etc_migration *migration, size_t index) {
  return guarded([&] { return migration->migration->waitFor(index); });
}

etc_error *etc_migration_finish(etc_migration *migration) {
  return guarded([&] { return migration->migration->finish(); });
}

etc_error *etc_migration_check(etc_migration *migration) {
  return guarded([&] { return migration->migration->check(); });
}

etc_outcome etc_migration_outcome(const etc_migration *migration) {
  return migration->migration->outcome();
}

void etc_migration_abort(etc_migration *migration) {
  migration->migration->abort("the migration was aborted");
}

void etc_migration_abort_because(etc_migration *migration, const char *cause) {
  migration->migration->abort(cause && *cause ? cause
                                              : "the migration was aborted");
}

etc_error *etc_migration_tensor(const etc_migration *migration, size_t index,
                                void **data, int *stayed) {
  return guarded(
      [&] { return migration->migration->current(index, data, stayed); });
}

etc_error *etc_migration_report(const etc_migration *migration,
                                etc_report *report) {
  return guarded([&] {
    return copyOut(migration->migration->report(), report, "etc_report");
  });
}

void etc_migration_free(etc_migration *migration) { delete migration; }

} // extern "C"
