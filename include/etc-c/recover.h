/* The C API of ETC's runtime: recovery inside a job. After a failure, the
 * surviving processes agree on who goes on and from which state, in the same
 * processes:
 *
 *   etc_recovery_create(&options, &recovery);
 *   etc_recovery_hold_plan(recovery, plan, ETC_CURR);       // what it holds
 *   etc_recovery_register(recovery, "param", name, data);   // each tensor
 *   etc_recovery_hold_migration(recovery, migration);       // if one failed
 *   etc_recovery_agree(recovery);
 *   etc_recovery_inventory(recovery, &json); // the next request's "prev"
 *   // All members plan from it with etc_planner_plan() (plan.h). `next` takes
 *   // the tensors of etc_plan_tensor(next, ETC_PREV, ...) from this process:
 *   etc_recovery_fill(recovery, next, "param", name, data); // each of them
 *   // and they migrate, with etc_recovery_generation() in etc_options.
 *
 * State is that of step boundaries: what is cast from other state (`derive` of
 * the request) may be cast anew. Memory is dense and row-major, in the shapes
 * that etc_plan_tensor() gives, and remains the caller's. All came with
 * ETC_RUN_API_VERSION 6, unless stated otherwise; errors, versions of structs
 * and ownership follow the rules of run.h. A recovery is used by one thread at
 * a time. */

#ifndef ETC_C_RECOVER_H
#define ETC_C_RECOVER_H

#include "etc-c/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets a key that no process has set yet, in one step, and assigns the value
 * that it has then: `data`, or what another process set first. */
typedef etc_error *(*etc_set_first)(void *context, const char *key,
                                    const void *data, size_t size,
                                    etc_value *first);

/* Since 9. A box of a tensor, in the shape that it is planned with. */
typedef struct etc_box {
  uint32_t struct_size;
  etc_dtype dtype;
  const char *type, *name;
  uint32_t axes, view_axes;
  int64_t shape[ETC_MAX_AXES]; /* of the whole tensor */
  int64_t begin[ETC_MAX_AXES], end[ETC_MAX_AXES];
  /* The framework's shape of the whole tensor, where that is another one: the
   * same elements in the same order. view_axes is 0 otherwise. */
  int64_t view[ETC_MAX_AXES];
} etc_box;

/* Since 9. A program's own checkpoint. check says, with an error, that a box is
 * not in it; all processes have to get the same answers. read fills `data` with
 * the box's elements, dense and row-major. Both are called in
 * etc_recovery_agree() and etc_recovery_fill(). */
typedef struct etc_box_source {
  void *context;
  etc_error *(*check)(void *context, const etc_box *box);
  etc_error *(*read)(void *context, const etc_box *box, void *data);
} etc_box_source;

typedef struct etc_recovery_options {
  uint32_t struct_size;
  uint32_t device; /* of this process */
  /* The devices whose processes may take part, in ascending order: copied. */
  const uint32_t *devices;
  size_t device_count;
  /* The step of the trainer that the state is of. All tensors are of one step:
   * a process that stopped in the middle of an optimizer's step holds nothing.
   */
  int64_t version;
  /* etc_recovery_generation() of the last recovery that this process was part
   * of, or 0. */
  uint32_t generation;
  uint32_t reserved;
  /* Devices whose processes are not there after this many seconds are given
   * up, if the others hold enough; 0 means 10. */
  double patience_seconds;
  double timeout_seconds; /* of etc_recovery_agree(); 0 means 300 */
  /* Processes meet over a store, or else a directory that all share. */
  etc_store store;
  etc_set_first set_first; /* with the store's context */
  const char *directory;
  const char *tag; /* of the job; NULL means "etc" */
  /* A directory of safetensors (docs/state-files.md), or NULL, and the step
   * that it is of: the same on all processes. Only what no process holds is
   * read. */
  const char *restore_from;
  int64_t restore_version;
  /* Since 9. Instead of restore_from, or no functions. */
  etc_box_source restore;
  /* Since 10. Where all of the state is: in host memory (ETC_TCP), or in that
   * of a GPU (ETC_NCCL, and its number), as in etc_options. What the GPU does
   * to it has to be over before etc_recovery_fill(). */
  etc_transport transport;
  int32_t gpu;
} etc_recovery_options;

typedef struct etc_recovery etc_recovery;

/* Sets the size that this header knows, and the defaults. */
static __inline void etc_recovery_options_init(etc_recovery_options *options) {
  memset(options, 0, sizeof *options);
  options->struct_size = sizeof *options;
}

/* The options are copied. */
ETC_API etc_error *etc_recovery_create(const etc_recovery_options *options,
                                       etc_recovery **recovery);

/* This process holds all tensors of its device on one side of a whole plan.
 * Processes find each other's state by the plan that all of them name, so one
 * that holds the end of one plan and the beginning of the next names both. A
 * process that names none holds nothing, and joins. */
ETC_API etc_error *etc_recovery_hold_plan(etc_recovery *recovery,
                                          const etc_plan *plan, etc_side side);
/* The memory of a tensor of that plan and side. It has to remain until the last
 * etc_recovery_fill(). */
ETC_API etc_error *etc_recovery_register(etc_recovery *recovery,
                                         const char *type, const char *name,
                                         const void *data);
/* This process holds what a migration left, in whatever condition. The
 * migration has to remain until the last etc_recovery_fill(). ETC_ERROR_USAGE
 * if its outcome is ETC_UNREADABLE, if its state is not where the options say,
 * or if its deferred part still runs: etc_migration_finish() comes first. */
ETC_API etc_error *etc_recovery_hold_migration(etc_recovery *recovery,
                                               const etc_migration *migration);

/* Waits for the others. There is one agreement for each generation. Fails with
 * ETC_ERROR_EXCLUDED if the others went on without this process, and with
 * ETC_ERROR_PEER if there is no agreement in time, for example because state is
 * lost: the message names it. */
ETC_API etc_error *etc_recovery_agree(etc_recovery *recovery);

/* After etc_recovery_agree(): the agreement's number, and the devices that are
 * part of it, in ascending order; valid as long as the recovery. */
ETC_API uint32_t etc_recovery_generation(const etc_recovery *recovery);
ETC_API const uint32_t *etc_recovery_devices(const etc_recovery *recovery,
                                             size_t *count);
/* Which of the plans and migrations that this process named, in order from 0,
 * tells what it holds: the one that all members have in common. -1 if it named
 * none, or not that one: it takes the next plan from another process. */
ETC_API int etc_recovery_base(const etc_recovery *recovery);

/* Unless etc_recovery_base() is -1: the state that all go on from, of one step:
 * the newest that is complete. */
typedef struct etc_recovered {
  uint32_t struct_size;
  uint32_t dropped_devices; /* whose state is of another step */
  int64_t version;
  uint64_t restored_boxes, restored_bytes; /* in the checkpoint alone */
} etc_recovered;
ETC_API etc_error *etc_recovery_state(const etc_recovery *recovery,
                                      etc_recovered *state);
/* Which device holds what of it (docs/inventory-format.md); valid as long as
 * the recovery. */
ETC_API etc_error *etc_recovery_inventory(const etc_recovery *recovery,
                                          const char **json);
/* Whether tensor (type, name) of the previous side of `next` is in memory that
 * was registered or is a migration's, as a whole: sets that memory, or else
 * NULL. */
ETC_API etc_error *etc_recovery_find(const etc_recovery *recovery,
                                     const etc_plan *next, const char *type,
                                     const char *name, const void **data);
/* Fills memory for it, as large as the tensor, from what this process holds
 * (it, a tied copy or what it is cast from) and from the checkpoint.
 * ETC_ERROR_USAGE if neither has an element: `next` was not planned from the
 * inventory. */
ETC_API etc_error *etc_recovery_fill(const etc_recovery *recovery,
                                     const etc_plan *next, const char *type,
                                     const char *name, void *data);

/* Values that members leave for each other, under names. get waits; what it
 * returns is valid until the next get. */
ETC_API etc_error *etc_recovery_put(etc_recovery *recovery, const char *name,
                                    const void *data, size_t size);
ETC_API etc_error *etc_recovery_get(etc_recovery *recovery, const char *name,
                                    double timeout_seconds, const void **data,
                                    size_t *size);

/* NULL is ignored. */
ETC_API void etc_recovery_free(etc_recovery *recovery);

/* Without a recovery. Since 9. What a participant holds, after any outcome:
 * which boxes of which tensors, as JSON (docs/inventory-format.md); store.h
 * makes values. What landed in a current tensor counts, beside the previous
 * ones that were not released. ETC_ERROR_USAGE if the outcome is
 * ETC_UNREADABLE, and while the thread of deferred state moves. */
ETC_API etc_error *etc_migration_inventory(const etc_migration *migration,
                                           etc_value *json);
/* Since 10. Between prepare and run, for who waits for something else: an error
 * where a participant has failed or was lost, as of run, which then is over. It
 * does not wait. */
ETC_API etc_error *etc_migration_check(etc_migration *migration);
/* Since 9. As etc_migration_inventory(), of a participant that holds all of one
 * side of a plan. */
ETC_API etc_error *etc_plan_inventory(const etc_plan *plan, etc_side side,
                                      uint32_t participant, etc_value *json);

#ifdef __cplusplus
}
#endif

#endif /* ETC_C_RECOVER_H */
