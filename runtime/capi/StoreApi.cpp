// A job's store through the C API.

#include "capi/Bootstrap.h"
#include "capi/Handles.h"

#include "job/JobStore.h"

#include "etc-c/store.h"

#include <algorithm>
#include <cmath>

using namespace etc::runtime;

struct etc_job_store {
  std::unique_ptr<JobStore> store;
  std::string contact; // returned last
};

/// Where processes find each other; null: by the contact.
static Result<std::unique_ptr<Rendezvous>>
findFirst(const etc_job_store_options &options, const std::atomic<bool> &stop) {
  const std::string tag = options.tag ? options.tag : "etc";
  if (options.store.set && options.store.get && options.set_first)
    return makeStore(options.store, tag, options.set_first);
  if (options.directory)
    return makeDirectoryRendezvous(options.directory, tag, stop);
  if (options.contact)
    return std::unique_ptr<Rendezvous>();
  return Status(ErrorKind::Usage,
                "processes have no way to find each other: set store and "
                "set_first, or directory, or contact");
}

static Result<std::unique_ptr<JobStore>>
open(const etc_job_store_options &given) {
  auto silence = readTime("silence_seconds", given.silence_seconds, 5);
  auto timeout = readTime("timeout_seconds", given.timeout_seconds, 300);
  if (!silence || !timeout)
    return (silence ? timeout : silence).status();
  const std::atomic<bool> stop{false};
  auto first = findFirst(given, stop);
  if (!first)
    return first.status();
  JobStoreOptions options;
  options.device = given.device;
  options.host = given.host ? given.host : "";
  options.silence = *silence;
  options.deadline = Deadline(*timeout);
  options.first = first->get();
  if (!options.first)
    options.contact = given.contact;
  return JobStore::open(options);
}

static JobStore &storeOf(void *job_store) {
  return *static_cast<etc_job_store *>(job_store)->store;
}

/// Assigns a value, or returns the error.
static Status assign(Result<std::string> got, etc_value *value) {
  if (!got)
    return got.status();
  value->bytes = std::move(*got);
  return Status::success();
}

extern "C" {

etc_error *etc_job_store_open(const etc_job_store_options *options,
                              etc_job_store **job_store) {
  return guarded([&]() -> Status {
    if (!job_store)
      return Status(ErrorKind::Usage,
                    "etc_job_store_open: an argument is NULL");
    auto given = copyIn(options, "etc_job_store_options");
    if (!given)
      return given.status();
    auto made = open(*given);
    if (!made)
      return made.status();
    *job_store = new etc_job_store{std::move(*made), {}};
    return Status::success();
  });
}

etc_store etc_job_store_callbacks(etc_job_store *job_store) {
  return {job_store, etc_job_store_set, etc_job_store_get};
}

etc_error *etc_job_store_set(void *job_store, const char *key, const void *data,
                             size_t size) {
  return guarded([&] {
    return storeOf(job_store).put(
        key, std::string(static_cast<const char *>(data), size));
  });
}

etc_error *etc_job_store_get(void *job_store, const char *key,
                             double timeout_seconds, etc_value *value) {
  return guarded([&] {
    const double seconds = std::clamp(timeout_seconds, 0.0, 1e9);
    const Milliseconds limit(std::llround(seconds * 1000));
    return assign(storeOf(job_store).get(key, Deadline(limit)), value);
  });
}

etc_error *etc_job_store_set_first(void *job_store, const char *key,
                                   const void *data, size_t size,
                                   etc_value *first) {
  return guarded([&] {
    return assign(storeOf(job_store).putFirst(
                      key, std::string(static_cast<const char *>(data), size)),
                  first);
  });
}

etc_value *etc_value_new(void) { return new etc_value; }

const void *etc_value_data(const etc_value *value, size_t *size) {
  *size = value->bytes.size();
  return value->bytes.data();
}

void etc_value_free(etc_value *value) { delete value; }

const char *etc_job_store_contact(etc_job_store *job_store) {
  job_store->contact = job_store->store->contact();
  return job_store->contact.c_str();
}

void etc_job_store_devices(const etc_job_store *job_store, uint32_t *devices,
                           size_t size, size_t *count) {
  const std::vector<uint32_t> all = job_store->store->devices();
  *count = all.size();
  std::copy_n(all.begin(), std::min(size, all.size()), devices);
}

void etc_job_store_interrupt(etc_job_store *job_store) {
  job_store->store->interrupt();
}

void etc_job_store_close_after_fork(etc_job_store *job_store) {
  job_store->store->closeAfterFork();
}

void etc_job_store_free(etc_job_store *job_store) { delete job_store; }
}
