/* The C API of ETC's runtime: opens a plan and migrates the tensors of this
 * process from the previous to the current configuration. Does not need LLVM.
 *
 * A migration, on every participant:
 *
 *   etc_plan_open("m.etcplan", &plan);
 *   etc_migration_create(plan, &options, &migration);
 *   etc_migration_register(migration, "param", name, &tensor);   // for each
 *   etc_migration_prepare(migration);     // while the old steps still run
 *   etc_migration_run(migration);         // the pause
 *   etc_migration_finish(migration);      // what the plan defers
 *   etc_migration_tensor(migration, i, &data, &stayed);          // for each
 *
 * Errors. Functions that can fail return NULL on success, or an etc_error,
 * which the caller frees. Messages are one line and state what is wrong.
 *
 * Threads. Any thread may read a plan. A migration may be used by one thread
 * at a time, except by etc_migration_abort*() and etc_migration_outcome().
 *
 * Versions. Functions and fields are added, never changed or removed. Structs
 * that may grow begin with their size, so that programs built against an older
 * header continue to work. ETC_RUN_API_VERSION counts the additions. */

#ifndef ETC_C_RUN_H
#define ETC_C_RUN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ETC_API __attribute__((visibility("default")))
#define ETC_RUN_API_VERSION 10

/* The library's, which must be at least that of this header. */
ETC_API uint32_t etc_run_api_version(void);
/* "0.1.0". */
ETC_API const char *etc_run_version(void);

/* ---- Errors ---- */

typedef enum etc_error_kind {
  ETC_ERROR_USAGE = 1,         /* a wrong argument, no memory or no library */
  ETC_ERROR_MALFORMED = 2,     /* a malformed plan or request */
  ETC_ERROR_VERIFICATION = 3,  /* a message has unexpected content */
  ETC_ERROR_PEER = 4,          /* another participant failed or timed out */
  ETC_ERROR_UNSATISFIABLE = 5, /* a request that cannot be met (plan.h) */
  ETC_ERROR_EXCLUDED = 6       /* the others went on without this process */
} etc_error_kind;

typedef struct etc_error etc_error;
/* For use by callbacks that fail. Never returns NULL. */
ETC_API etc_error *etc_error_new(etc_error_kind kind, const char *message);
ETC_API etc_error_kind etc_error_kind_of(const etc_error *error);
/* Valid as long as the error. */
ETC_API const char *etc_error_message(const etc_error *error);
ETC_API void etc_error_free(etc_error *error);
/* ---- Plans ---- */

typedef enum etc_side { ETC_PREV = 0, ETC_CURR = 1 } etc_side;

typedef enum etc_dtype {
  ETC_BF16 = 0,
  ETC_FP16 = 1,
  ETC_FP32 = 2,
  ETC_FP64 = 3,
  ETC_I64 = 4,
  ETC_U8 = 5
} etc_dtype;

#define ETC_MAX_AXES 8

/* A device's shard of one tensor. Strings are valid as long as the plan. */
typedef struct etc_tensor_info {
  uint32_t struct_size; /* sizeof(etc_tensor_info), set by the caller */
  etc_dtype dtype;
  const char *type; /* "param", "exp_avg", ... */
  const char *name; /* "decoder.layers.0.mlp.linear_fc1.weight" */
  uint64_t bytes;
  /* Of the local tensor, dense and row-major; of several boxes, one axis. */
  uint32_t axes;
  uint32_t box_count;
  int64_t shape[ETC_MAX_AXES];
  /* The global planning shape, to which the boxes of etc_plan_box() refer. */
  uint32_t planning_axes;
  uint32_t deferred; /* since 5; moves after the pause */
  int64_t planning_shape[ETC_MAX_AXES];
} etc_tensor_info;

/* Bytes are of all devices unless stated otherwise; bounds of slices are 0. */
typedef struct etc_summary {
  uint32_t struct_size, rounds;
  uint64_t moved_bytes, kept_bytes, zeroed_bytes, derived_bytes;
  uint64_t internode_bytes;                /* of those moved */
  uint64_t max_send_bytes, max_recv_bytes; /* of the busiest device */
  uint64_t bound_moved_bytes, bound_internode_bytes, bound_bottleneck_bytes;
  double peak_ratio, peak_ratio_safe; /* peak / max(prev, curr), the worst */
  /* What the paper's method would move, if it is defined for this plan. */
  uint32_t has_paper_policy, reserved;
  uint64_t paper_moved_bytes, paper_internode_bytes, paper_max_recv_bytes;
  /* Of those moved: forwarded by their receivers; received only for that. */
  uint64_t relayed_bytes, transit_bytes;
  uint64_t deferred_rounds; /* since 5; the last ones, after the pause */
  /* Since 5, at the plan's rates (slices: none): the bound for its roles or 0,
   * the busiest port, simulated; why. Since 8: for all roles, or 0; why. */
  uint32_t has_time, is_cluster_assumed;
  double bound_seconds, port_seconds, predicted_seconds;
  const char *witness, *cluster;
  double roles_bound_seconds;
  const char *roles_witness;
} etc_summary;

/* A bound is of all bytes moved or of those between nodes; for all roles that
 * the request allows, or the plan's; and counts all, or those of the pause. */
typedef enum etc_quantity {
  ETC_MOVED_BYTES = 0,
  ETC_INTERNODE_BYTES = 1
} etc_quantity;
typedef enum etc_scope { ETC_ALLOWED_ROLES = 0, ETC_GIVEN_ROLES = 1 } etc_scope;
typedef enum etc_counted {
  ETC_ALL_BYTES = 0,
  ETC_URGENT_BYTES = 1
} etc_counted;

/* A bound and its proof (docs/plan-format.md), valid as long as the plan. */
typedef struct etc_certificate {
  uint32_t struct_size;
  etc_quantity quantity;
  etc_scope scope;
  etc_counted counted;
  /* Whether the bound holds for plans that relay, in which a node receives
   * the content of tied tensors once, that cast what this plan moves. */
  uint32_t covers_relays, covers_twins, covers_recomputation, reserved;
  uint64_t bound_bytes;
  const uint64_t *row_duals, *column_duals;
  size_t rows, columns;
} etc_certificate;

/* The sizes of a hybrid-parallel grid, named as in Megatron-Core. */
typedef struct etc_configuration {
  uint32_t struct_size;
  uint32_t pp, tp, dp, cp, ep, etp, vpp; /* an inventory: dp devices */
  uint32_t pipeline_first; /* rank order: pp varies faster than dp */
  uint32_t distributed_optimizer, is_inventory;
  uint32_t fsdp; /* of dp, ranks that share one copy; 1: each has one */
} etc_configuration;

/* The position of a rank in its grid. */
typedef struct etc_coordinates {
  uint32_t struct_size;
  uint32_t pp, tp, dp, cp;
} etc_coordinates;

typedef struct etc_plan etc_plan;
/* Opens a plan file, or copies the bytes of one, and checks it completely: its
 * format, its hash, and the plan's rules (docs/plan-format.md). */
ETC_API etc_error *etc_plan_open(const char *path, etc_plan **plan);
ETC_API etc_error *etc_plan_read(const void *bytes, size_t size,
                                 etc_plan **plan);
/* Migrations keep what they need, so it may be freed before. Ignores NULL. */
ETC_API void etc_plan_free(etc_plan *plan);

/* Checks the plan's rules again, box by box, and the proofs of its bounds. */
ETC_API etc_error *etc_plan_verify(const etc_plan *plan);
/* The contents of the plan file. Valid as long as the plan. */
ETC_API const void *etc_plan_bytes(const etc_plan *plan, size_t *size);
/* Equal plans have equal fingerprints, on any machine. */
ETC_API uint64_t etc_plan_fingerprint(const etc_plan *plan);
/* Since 4. The part of a plan that one participant runs, with the plan's
 * fingerprint; docs/plan-format.md says what it lacks. The caller owns it. */
ETC_API etc_error *etc_plan_slice(const etc_plan *plan, uint32_t participant,
                                  etc_plan **slice);
/* Labels for display, such as "gpt2" and "PP4TP2". */
ETC_API const char *etc_plan_model(const etc_plan *plan);
ETC_API const char *etc_plan_label(const etc_plan *plan, etc_side side);
/* Fill in a struct whose struct_size is set. Coordinates are those of a rank in
 * the grid; an inventory has none, so asking for them is ETC_ERROR_USAGE. */
ETC_API etc_error *etc_plan_configuration(const etc_plan *plan, etc_side side,
                                          etc_configuration *configuration);
ETC_API etc_error *etc_plan_coordinates(const etc_plan *plan, etc_side side,
                                        uint32_t rank,
                                        etc_coordinates *coordinates);
/* Its figures, and its certificates, if these prove what they state. */
ETC_API etc_error *etc_plan_summary(const etc_plan *plan, etc_summary *summary);
ETC_API size_t etc_plan_certificate_count(const etc_plan *plan);
ETC_API etc_error *etc_plan_certificate(const etc_plan *plan, size_t index,
                                        etc_certificate *certificate);

/* The number of nodes, and the number of devices of a node. */
ETC_API uint32_t etc_plan_node_count(const etc_plan *plan);
ETC_API uint32_t etc_plan_node_size(const etc_plan *plan, uint32_t node);
/* Participants are the devices that hold previous state or take a role. Process
 * rank r runs participant r, whose device is etc_plan_participant(plan, r). */
ETC_API uint32_t etc_plan_participant_count(const etc_plan *plan);
ETC_API uint32_t etc_plan_participant(const etc_plan *plan, uint32_t rank);
/* The number of ranks of a configuration, and the device of each rank. */
ETC_API uint32_t etc_plan_world(const etc_plan *plan, etc_side side);
ETC_API uint32_t etc_plan_placement(const etc_plan *plan, etc_side side,
                                    uint32_t rank);

/* The tensors that a participant holds on one side; struct_size is set. */
ETC_API size_t etc_plan_tensor_count(const etc_plan *plan, etc_side side,
                                     uint32_t participant);
ETC_API etc_error *etc_plan_tensor(const etc_plan *plan, etc_side side,
                                   uint32_t participant, size_t index,
                                   etc_tensor_info *info);
/* A box of a tensor: begin and end of every planning axis, 2 * planning_axes
 * numbers. In memory the tensor's boxes are concatenated, each row-major. */
ETC_API etc_error *etc_plan_box(const etc_plan *plan, etc_side side,
                                uint32_t participant, size_t index,
                                uint32_t box, int64_t *bounds);

/* ---- Migrations ---- */

/* The job's key-value store, through which participants exchange addresses.
 * Keys begin with the options' `tag`. Callbacks run on the thread that calls
 * etc_migration_prepare(). */
typedef struct etc_value etc_value;
ETC_API void etc_value_assign(etc_value *value, const void *data, size_t size);

typedef struct etc_store {
  void *context;
  etc_error *(*set)(void *context, const char *key, const void *data,
                    size_t size);
  /* Waits until the key is set, for at most `timeout_seconds`. */
  etc_error *(*get)(void *context, const char *key, double timeout_seconds,
                    etc_value *value);
} etc_store;

/* The caller's allocator. Callbacks run on the thread that calls prepare or
 * run, and must not call this migration, except etc_migration_abort*(). */
typedef struct etc_memory {
  void *context;
  /* Returns memory for a current tensor or, if `tensor` is NULL, for staging;
   * NULL if there is none. Aligned to at least 64 bytes. Nothing else may use
   * it, on any stream: memory that overlaps a tensor of the migration is
   * rejected and stays the caller's. It may wait for the device
   * (docs/runtime.md). */
  void *(*allocate)(void *context, const etc_tensor_info *tensor,
                    uint64_t bytes);
  /* Called when a previous tensor or staging is no longer needed, or a failed
   * migration returns it. No stream uses it: freeing it needs no wait. */
  void (*release)(void *context, etc_side side, const etc_tensor_info *tensor,
                  void *data, uint64_t bytes);
} etc_memory;

/* Host memory over TCP; GPUs. */
typedef enum etc_transport { ETC_TCP = 0, ETC_NCCL = 1 } etc_transport;

typedef enum etc_mode {
  ETC_EAGER = 0, /* previous tensors are released when they have arrived */
  ETC_SAFE = 1   /* previous tensors stay until all participants have their new
                    state: after a failure the previous state is complete */
} etc_mode;

/* Called before every round, and after the last one. */
typedef void (*etc_progress)(void *context, uint32_t round, uint32_t rounds,
                             uint64_t received_bytes);

typedef struct etc_options {
  uint32_t struct_size;
  uint32_t participant; /* of this process, 0 <= participant < count */
  etc_transport transport;
  etc_mode mode;
  int32_t gpu; /* the GPU of ETC_NCCL, in this process's numbering */
  uint32_t reserved;
  double timeout_seconds; /* the longest wait for a peer; 0 means 300 */
  /* The name or address at which others reach this host; NULL: its own. */
  const char *host;
  /* Distinguishes migrations that share a store: the same on all participants,
   * and different for every attempt. NULL means "etc". */
  const char *tag;
  /* Participants meet over a store, or else an empty directory they share. */
  etc_store store;
  const char *directory;
  /* Without callbacks, ETC allocates current tensors, frees them with the
   * migration, and frees no previous ones. */
  etc_memory memory;
  etc_progress progress;
  void *progress_context;
  /* The number of this change in the job: equal on all, higher than before;
   * 0: none. Earlier processes get ETC_ERROR_EXCLUDED. */
  uint32_t generation;
  uint32_t encrypt; /* since 7; 1, on all: ETC_TCP encrypts the state, too */
  /* A participant that gives no sign of life for this long is given up, from
   * prepare to the end. A thread sends four a second. 0: 5; negative: never. */
  double silence_seconds;
  double meeting_seconds;       /* since 6; of prepare; 0: timeout_seconds */
  double tail_bytes_per_second; /* since 8; at most, until finish; 0: any */
} etc_options;

/* Sets the size that this header knows, and the defaults. */
static __inline void etc_options_init(etc_options *options) {
  memset(options, 0, sizeof *options);
  options->struct_size = sizeof *options;
}

/* A tensor that the caller owns. */
typedef struct etc_tensor {
  uint32_t struct_size;
  etc_dtype dtype;
  void *data;
  uint32_t axes;
  uint32_t reserved;
  int64_t shape[ETC_MAX_AXES];
  int64_t strides[ETC_MAX_AXES]; /* in elements; it must be contiguous */
} etc_tensor;

typedef struct etc_report {
  uint32_t struct_size;
  uint32_t device;
  uint64_t sent_bytes, received_bytes;
  uint64_t internode_bytes; /* of those received */
  double prepare_seconds, seconds;
  double pack_seconds, copy_seconds, wait_seconds, unpack_seconds,
      acknowledge_seconds;
  uint64_t peak_bytes;   /* the peak of live bytes: tensors and staging */
  uint64_t proved_bytes; /* the peak that the plan states */
  uint64_t state_bytes;  /* max(prev, curr) */
  uint64_t staging_bytes;
  double pause_seconds; /* since 5; of `seconds`, until run returned */
  uint32_t finished_rounds, rounds; /* since 8; how far it is */
} etc_report;

typedef struct etc_migration etc_migration;
/* Creates a migration; the options are copied. */
ETC_API etc_error *etc_migration_create(const etc_plan *plan,
                                        const etc_options *options,
                                        etc_migration **migration);

/* Hands over a previous tensor. Its values may change until
 * etc_migration_run(). Fails if the participant holds no such tensor, or if
 * dtype, shape or strides differ from the plan's. A shape may also be flat: one
 * axis of all elements. */
ETC_API etc_error *etc_migration_register(etc_migration *migration,
                                          const char *type, const char *name,
                                          const etc_tensor *tensor);

/* Connects, compares plans, allocates staging. All participants must call it;
 * training may go on meanwhile. Fails if a previous tensor is missing. */
ETC_API etc_error *etc_migration_prepare(etc_migration *migration);

/* Instead of prepare, if this participant cannot take part: prepare fails on
 * all others with `cause`, one line, preceded by the device. */
ETC_API etc_error *etc_migration_refuse(etc_migration *migration,
                                        const char *cause);

/* Waits for all others, moves, and commits. All participants must call it,
 * once. If one fails, the others get an error too. If the plan defers state,
 * returns when all have their parameters; a thread moves the rest. */
ETC_API etc_error *etc_migration_run(etc_migration *migration);
/* Since 8. Instead of run, over TCP: the thread moves all; returns at once. */
ETC_API etc_error *etc_migration_start(etc_migration *migration);
/* Since 8. Waits until current tensor `index` is there, to be read only. */
ETC_API etc_error *etc_migration_wait(etc_migration *migration, size_t index);
/* Since 5. Waits for that rest, and commits: before the optimizer's step, a
 * checkpoint, the next change. Until then nothing may write to parameters. */
ETC_API etc_error *etc_migration_finish(etc_migration *migration);

/* What this participant holds. After an error participants may differ. */
typedef enum etc_outcome {
  ETC_NOT_BEGUN = 0, /* no round has begun: the previous state is unchanged */
  ETC_OLD = 1,       /* rounds have begun, and the previous state is complete */
  ETC_NEW = 2,       /* committed: the current state is complete */
  ETC_MIXED = 3,     /* previous tensors were released: the others are complete;
                        docs/python.md says where the released ones are */
  ETC_UNREADABLE = 4 /* operations on the GPU have not completed (yet) */
} etc_outcome;

/* For any thread, at any time. Before the end: what an error would leave. */
ETC_API etc_outcome etc_migration_outcome(const etc_migration *migration);

/* Makes prepare and run fail, here and at the peers. */
ETC_API void etc_migration_abort(etc_migration *migration);
/* The same, with `cause` in the peers' errors: one line of at most 1024 bytes.
 * The first failure is the cause for all. Callbacks may call it, too. */
ETC_API void etc_migration_abort_because(etc_migration *migration,
                                         const char *cause);

/* After run (finish or wait, if deferred): the memory of a current tensor of
 * etc_plan_tensor(), and whether a previous one stayed there. Either pointer
 * may be NULL. */
ETC_API etc_error *etc_migration_tensor(const etc_migration *migration,
                                        size_t index, void **data, int *stayed);

/* The figures so far. */
ETC_API etc_error *etc_migration_report(const etc_migration *migration,
                                        etc_report *report);

/* Frees no memory of callbacks. Ignores NULL. */
ETC_API void etc_migration_free(etc_migration *migration);

#ifdef __cplusplus
}
#endif

#endif /* ETC_C_RUN_H */
