/* The C API of ETC's runtime: a key-value store that lives in the processes of
 * a job, for jobs whose processes and nodes fail:
 *
 *   etc_job_store_open(&options, &job_store);  // each process, once
 *   recovery_options.store = etc_job_store_callbacks(job_store);
 *   recovery_options.set_first = etc_job_store_set_first;
 *
 * Processes find each other once, over another store or a directory, which is
 * not needed afterwards. The one that came first is the hub. If it fails, the
 * one that joined next takes over, at the address that it told when it joined.
 * Values remain: those set by etc_job_store_set() as long as their process or
 * the hub does, those of etc_job_store_set_first() as long as any process.
 *
 * Values are set and read where the hub is connected with more than half of
 * the processes; those that certainly ended do not count. So a process that was
 * stopped or cut off, and comes back, finds what the others decided meanwhile.
 *
 * A thread of the library does all this. Connections are TLS 1.3 with a secret
 * of the job. All came with ETC_RUN_API_VERSION 8; errors, versions of structs
 * and ownership follow the rules of run.h. Any thread may use a store. */

#ifndef ETC_C_STORE_H
#define ETC_C_STORE_H

#include "etc-c/recover.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct etc_job_store_options {
  uint32_t struct_size;
  uint32_t device; /* of this process */
  /* The name or address at which others reach this host; NULL: its own. */
  const char *host;
  /* Where processes find each other: a store, or else a directory that all
   * share, or else what etc_job_store_contact() returned in a process that is
   * still there. */
  etc_store store;
  etc_set_first set_first; /* with the store's context */
  const char *directory;
  const char *contact;
  const char *tag; /* of the job; NULL means "etc" */
  /* A process that gives no sign of life for this long is given up; 0: 5. */
  double silence_seconds;
  double timeout_seconds; /* of etc_job_store_open(); 0 means 300 */
} etc_job_store_options;

typedef struct etc_job_store etc_job_store;

/* Sets the size that this header knows, and the defaults. */
static __inline void
etc_job_store_options_init(etc_job_store_options *options) {
  memset(options, 0, sizeof *options);
  options->struct_size = sizeof *options;
}

/* Joins, or founds the store. The options are copied. */
ETC_API etc_error *etc_job_store_open(const etc_job_store_options *options,
                                      etc_job_store **job_store);

/* Callbacks of an etc_store, whose context is the job store. */
ETC_API etc_store etc_job_store_callbacks(etc_job_store *job_store);
ETC_API etc_error *etc_job_store_set(void *job_store, const char *key,
                                     const void *data, size_t size);
/* Waits until the key is set. At least one answer is waited for, for at most
 * four times the silence. */
ETC_API etc_error *etc_job_store_get(void *job_store, const char *key,
                                     double timeout_seconds, etc_value *value);
ETC_API etc_error *etc_job_store_set_first(void *job_store, const char *key,
                                           const void *data, size_t size,
                                           etc_value *first);
/* For callers of the functions above: a value, and its bytes, valid as long as
 * it. */
ETC_API etc_value *etc_value_new(void);
ETC_API const void *etc_value_data(const etc_value *value, size_t *size);
ETC_API void etc_value_free(etc_value *value);

/* What a process that joins later needs, as one line; it contains the secret.
 * Valid until the next call. */
ETC_API const char *etc_job_store_contact(etc_job_store *job_store);
/* The devices of the processes that take part, in the order in which they
 * joined: the hub is the first. Sets *count, and at most `size` devices. */
ETC_API void etc_job_store_devices(const etc_job_store *job_store,
                                   uint32_t *devices, size_t size,
                                   size_t *count);

/* Calls that wait now in other threads return an ETC_ERROR_PEER, so that these
 * threads can end before the process exits. (ETC_RUN_API_VERSION 10) */
ETC_API void etc_job_store_interrupt(etc_job_store *job_store);

/* In a child that this process forked: closes its copies of the connections, so
 * that others notice when this process ends. The child cannot use the store. */
ETC_API void etc_job_store_close_after_fork(etc_job_store *job_store);

/* Leaves. NULL is ignored. */
ETC_API void etc_job_store_free(etc_job_store *job_store);

#ifdef __cplusplus
}
#endif

#endif /* ETC_C_STORE_H */
