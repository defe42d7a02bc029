/* The C API of ETC's runtime: opens a plan and migrates the tensors of this
 * process from the previous to the current configuration. Needs no LLVM.
 *
 * A migration, on every participant:
 *
 *   etc_plan *plan;
 *   etc_plan_open("m.etcplan", &plan);
 *   etc_migration_create(plan, &options, &migration);
 *   etc_migration_register(migration, "param", name, &tensor);   // for each
 *   etc_migration_prepare(migration);     // while the old steps still run
 *   etc_migration_run(migration);         // the pause
 *   etc_migration_tensor(migration, i, &info, &data);            // for each
 *
 * Errors. Functions that can fail return an etc_error, which the caller frees,
 * or NULL. Messages are one line and say what is wrong.
 *
 * Threads. A plan never changes: any thread may read it. Different migrations
 * may be used by different threads at once; one migration by one thread at a
 * time, except etc_migration_abort*(), which any thread may call.
 *
 * Versions. Functions and fields are added, never changed or removed; structs
 * begin with their size, so that programs built against an older header go on
 * working. ETC_RUN_API_VERSION counts the additions. */

#ifndef ETC_C_RUN_H
#define ETC_C_RUN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ETC_API __attribute__((visibility("default")))

#define ETC_RUN_API_VERSION 4

/* The library's ETC_RUN_API_VERSION; at least that of this header is needed. */
ETC_API uint32_t etc_run_api_version(void);
/* "0.1.0". */
ETC_API const char *etc_run_version(void);

/* ---- Errors ---- */

typedef enum etc_error_kind {
  ETC_ERROR_USAGE = 1,         /* a wrong argument, too little memory, a missing
                                  library */
  ETC_ERROR_MALFORMED = 2,     /* a plan or request that is not one */
  ETC_ERROR_VERIFICATION = 3,  /* a message is not what it should be */
  ETC_ERROR_PEER = 4,          /* another participant failed, or is late */
  ETC_ERROR_UNSATISFIABLE = 5, /* a request that can't be met (plan.h) */
  ETC_ERROR_EXCLUDED = 6 /* the others went on without this process, which was
                            stopped or cut off: what it holds is out of date */
} etc_error_kind;

typedef struct etc_error etc_error;

/* For callbacks that fail. Never returns NULL. */
ETC_API etc_error *etc_error_new(etc_error_kind kind, const char *message);
ETC_API etc_error_kind etc_error_kind_of(const etc_error *error);
/* Lives as long as the error. */
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

/* What a device holds of one tensor. Strings live as long as the plan. */
typedef struct etc_tensor_info {
  uint32_t struct_size; /* sizeof(etc_tensor_info), set by the caller */
  etc_dtype dtype;
  const char *type; /* "param", "exp_avg", ... */
  const char *name; /* "decoder.layers.0.mlp.linear_fc1.weight" */
  uint64_t bytes;
  /* The local tensor as the trainer has it: dense and row-major. A shard of
   * several boxes has one axis. */
  uint32_t axes;
  uint32_t box_count;
  int64_t shape[ETC_MAX_AXES];
  /* The axes of the global planning shape, which etc_plan_box() is about. */
  uint32_t planning_axes;
  uint32_t reserved;
  int64_t planning_shape[ETC_MAX_AXES];
} etc_tensor_info;

/* Bytes over all devices, except where said. docs/plan-format.md has the exact
 * meaning of each. */
typedef struct etc_summary {
  uint32_t struct_size;
  uint32_t rounds;
  uint64_t moved_bytes, kept_bytes, zeroed_bytes, derived_bytes;
  uint64_t internode_bytes;                /* of those moved */
  uint64_t max_send_bytes, max_recv_bytes; /* of the busiest device */
  uint64_t bound_moved_bytes, bound_internode_bytes, bound_bottleneck_bytes;
  double peak_ratio, peak_ratio_safe; /* peak / max(prev, curr), the worst */
  /* What the paper's method would move, where it is defined. */
  uint32_t has_paper_policy;
  uint32_t reserved;
  uint64_t paper_moved_bytes, paper_internode_bytes, paper_max_recv_bytes;
  uint64_t relayed_bytes; /* of those moved: passed on by who received them */
} etc_summary;

/* The sizes of a hybrid-parallel grid, named as in Megatron-Core. */
typedef struct etc_configuration {
  uint32_t struct_size;
  uint32_t pp, tp, dp, cp, ep, etp, vpp; /* an inventory: dp devices */
  uint32_t pipeline_first;               /* ranks: pp varies before dp */
  uint32_t distributed_optimizer;
  uint32_t is_inventory;
} etc_configuration;

/* Where a rank is in its grid. */
typedef struct etc_coordinates {
  uint32_t struct_size;
  uint32_t pp, tp, dp, cp;
} etc_coordinates;

typedef struct etc_plan etc_plan;

/* Opens a plan file, or copies the bytes of one, and checks all of it: format,
 * hash, and that it migrates what it says. */
ETC_API etc_error *etc_plan_open(const char *path, etc_plan **plan);
ETC_API etc_error *etc_plan_read(const void *bytes, size_t size,
                                 etc_plan **plan);
/* Migrations of a plan keep what they need of it. NULL is ignored. */
ETC_API void etc_plan_free(etc_plan *plan);

/* Checks it again: whether the plan migrates what it says, box by box. */
ETC_API etc_error *etc_plan_verify(const etc_plan *plan);
/* What a plan file holds. Lives as long as the plan. */
ETC_API const void *etc_plan_bytes(const etc_plan *plan, size_t *size);
/* Equal plans have equal fingerprints, on any machine. */
ETC_API uint64_t etc_plan_fingerprint(const etc_plan *plan);
/* "gpt2", and "PP4TP2": for people. */
ETC_API const char *etc_plan_model(const etc_plan *plan);
ETC_API const char *etc_plan_label(const etc_plan *plan, etc_side side);
/* Fill in a struct whose struct_size is set. Coordinates are those of a rank in
 * the grid; an inventory has none, which is a Usage error. */
ETC_API etc_error *etc_plan_configuration(const etc_plan *plan, etc_side side,
                                          etc_configuration *configuration);
ETC_API etc_error *etc_plan_coordinates(const etc_plan *plan, etc_side side,
                                        uint32_t rank,
                                        etc_coordinates *coordinates);
/* Fills in a struct whose struct_size is set. */
ETC_API etc_error *etc_plan_summary(const etc_plan *plan, etc_summary *summary);

/* The number of nodes, and of the devices of one. */
ETC_API uint32_t etc_plan_node_count(const etc_plan *plan);
ETC_API uint32_t etc_plan_node_size(const etc_plan *plan, uint32_t node);
/* Participants take part: they hold previous state or take a role. Process
 * rank r runs participant r; its device is etc_plan_participant(plan, r). */
ETC_API uint32_t etc_plan_participant_count(const etc_plan *plan);
ETC_API uint32_t etc_plan_participant(const etc_plan *plan, uint32_t rank);
/* The ranks of a configuration, and the device of each. */
ETC_API uint32_t etc_plan_world(const etc_plan *plan, etc_side side);
ETC_API uint32_t etc_plan_placement(const etc_plan *plan, etc_side side,
                                    uint32_t rank);

/* The tensors that a participant holds on one side. Fills in a struct whose
 * struct_size is set. */
ETC_API size_t etc_plan_tensor_count(const etc_plan *plan, etc_side side,
                                     uint32_t participant);
ETC_API etc_error *etc_plan_tensor(const etc_plan *plan, etc_side side,
                                   uint32_t participant, size_t index,
                                   etc_tensor_info *info);
/* A box of it: begin and end of every planning axis, 2 * planning_axes numbers.
 * The tensor's memory is its boxes one after the other, each row-major. */
ETC_API etc_error *etc_plan_box(const etc_plan *plan, etc_side side,
                                uint32_t participant, size_t index,
                                uint32_t box, int64_t *bounds);

/* ---- Migrations ---- */

/* Where participants leave addresses for each other: the job's key-value store.
 * Keys begin with the options' `tag`. Called by the thread that calls
 * etc_migration_prepare(). */
typedef struct etc_value etc_value;
ETC_API void etc_value_assign(etc_value *value, const void *data, size_t size);

typedef struct etc_store {
  void *context;
  etc_error *(*set)(void *context, const char *key, const void *data,
                    size_t size);
  /* Waits until the key is set, at most so long. */
  etc_error *(*get)(void *context, const char *key, double timeout_seconds,
                    etc_value *value);
} etc_store;

/* Whose memory tensors are in. Called by the thread that calls prepare or run;
 * callbacks must not call this migration. */
typedef struct etc_memory {
  void *context;
  /* Memory for a current tensor, or for staging, where `tensor` is NULL; NULL
   * where there is none. Aligned to 64 bytes at least, contents undefined.
   * Nothing else may use it, on any stream: what overlaps a tensor of the
   * migration is refused, and stays the caller's. Current tensors are asked for
   * in the round that first writes them, before it moves anything. */
  void *(*allocate)(void *context, const etc_tensor_info *tensor,
                    uint64_t bytes);
  /* A previous tensor is not needed any more, staging is over, or a migration
   * that failed gives memory back. No stream uses it any more: it can be freed
   * at once. */
  void (*release)(void *context, etc_side side, const etc_tensor_info *tensor,
                  void *data, uint64_t bytes);
} etc_memory;

typedef enum etc_transport {
  ETC_GLOO = 0, /* host memory over TCP */
  ETC_NCCL = 1  /* GPUs */
} etc_transport;

typedef enum etc_mode {
  ETC_EAGER =
      0,       /* previous tensors are released as soon as they have arrived */
  ETC_SAFE = 1 /* nothing is released before all have everything: after a
                  failure the previous state is whole */
} etc_mode;

/* Called before every round, and after the last one. */
typedef void (*etc_progress)(void *context, uint32_t round, uint32_t rounds,
                             uint64_t received_bytes);

typedef struct etc_options {
  uint32_t struct_size;
  uint32_t participant; /* this process's, 0 <= participant < count */
  etc_transport transport;
  etc_mode mode;
  int32_t gpu; /* the GPU of ETC_NCCL, as this process numbers them */
  uint32_t reserved;
  double timeout_seconds; /* the longest wait for a peer; 0 is 300 */
  /* The name or address of this host that others reach; NULL: its own name. */
  const char *host;
  /* Distinguishes migrations that share a store: the same on all participants,
   * and new for every attempt. NULL is "etc". */
  const char *tag;
  /* How participants find each other: a store, or else a directory that all of
   * them see and that was empty before. */
  etc_store store;
  const char *directory;
  /* Without callbacks, ETC allocates current tensors, frees them with the
   * migration, and frees no previous ones. */
  etc_memory memory;
  etc_progress progress;
  void *progress_context;
  /* The number of this change in the job: the same on all participants, and
   * higher than that of every earlier one. A process that is still at an
   * earlier one gets ETC_ERROR_EXCLUDED. 0 where nobody counts. */
  uint32_t generation;
  uint32_t reserved2;
  /* After so long without a sign of life a participant is given up; from the
   * connections in prepare until run is over, whether it runs or not. A thread
   * of the library sends four a second. 0 is 5, negative is never. */
  double silence_seconds;
} etc_options;

/* Sets the size and the defaults. */
ETC_API void etc_options_init(etc_options *options);

/* A tensor of the caller. */
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
  uint64_t peak_bytes;   /* the most that was live: tensors and staging */
  uint64_t proved_bytes; /* what the plan states for it */
  uint64_t state_bytes;  /* max(prev, curr) */
  uint64_t staging_bytes;
} etc_report;

typedef struct etc_migration etc_migration;

/* Copies the options. */
ETC_API etc_error *etc_migration_create(const etc_plan *plan,
                                        const etc_options *options,
                                        etc_migration **migration);

/* Hands a previous tensor over. Its values may change until
 * etc_migration_run(). Refused where the participant holds no such tensor, or
 * dtype, shape or strides are not what the plan says. A shape may also be flat:
 * one axis of all elements. */
ETC_API etc_error *etc_migration_register(etc_migration *migration,
                                          const char *type, const char *name,
                                          const etc_tensor *tensor);

/* Connects, compares plans, allocates staging. All participants call it
 * together; the previous configuration may go on training meanwhile. Refused
 * where a previous tensor is missing. */
ETC_API etc_error *etc_migration_prepare(etc_migration *migration);

/* Instead of prepare, where this participant cannot take part: the prepare of
 * all others ends with `cause`, one line, with the device before it. */
ETC_API etc_error *etc_migration_refuse(etc_migration *migration,
                                        const char *cause);

/* Waits for all others, moves, and commits. All participants call it together,
 * once. After an error of a peer the others get one too. */
ETC_API etc_error *etc_migration_run(etc_migration *migration);

/* What this participant holds. After an error participants may differ. */
typedef enum etc_outcome {
  ETC_NOT_BEGUN = 0, /* no round has begun: the previous state is as it was */
  ETC_OLD = 1,       /* rounds have begun, and the previous state is whole */
  ETC_NEW = 2,       /* committed: the current state is whole */
  ETC_MIXED = 3,     /* previous tensors were released: the rest is whole, what
                        went is with those that received it */
  ETC_UNREADABLE = 4 /* the GPU did not end what was under way: nothing that it
                        holds can be read */
} etc_outcome;

/* Any thread may ask, at any time. While run goes on it is what an error would
 * leave. */
ETC_API etc_outcome etc_migration_outcome(const etc_migration *migration);

/* Makes prepare and run, here and at the peers, end with an error. */
ETC_API void etc_migration_abort(etc_migration *migration);

/* The same, and the peers' errors say `cause`: one line, of which 1024 bytes
 * count, with the device before it. Whatever went wrong first is the cause for
 * all. Callbacks may call it before they return an error. */
ETC_API void etc_migration_abort_because(etc_migration *migration,
                                         const char *cause);

/* After run: the memory of the current tensor `index` of
 * etc_plan_tensor(plan, ETC_CURR, ...), and whether it is that of a previous
 * tensor, which stayed in place. Any pointer may be NULL. */
ETC_API etc_error *etc_migration_tensor(const etc_migration *migration,
                                        size_t index, void **data, int *stayed);

/* As far as it came. */
ETC_API etc_error *etc_migration_report(const etc_migration *migration,
                                        etc_report *report);

/* Memory that a callback allocated stays. NULL is ignored. */
ETC_API void etc_migration_free(etc_migration *migration);

#ifdef __cplusplus
}
#endif

#endif /* ETC_C_RUN_H */
