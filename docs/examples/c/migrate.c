/* Plans a migration, and executes it with one process per device:
 *
 *   migrate DIRECTORY     (an empty directory, the processes' rendezvous)
 *
 * Each process fills its previous tensors, hands them over, and checks its
 * current ones. Each element is a function of its position in the whole tensor,
 * small enough to be exact in every dtype. */

#include <etc-c/plan.h>
#include <etc-c/run.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char request[] =
    "{\"model\": {\"family\": \"gpt\", \"layers\": 4, \"hidden\": 64,"
    " \"heads\": 4, \"vocab\": 512, \"seq\": 64},"
    " \"prev\": \"PP2TP2\", \"curr\": \"PP4DP2\","
    " \"cluster\": {\"nodes\": 2, \"devices_per_node\": 4}}";

static void must(etc_error *error) {
  if (!error)
    return;
  fprintf(stderr, "migrate: %s\n", etc_error_message(error));
  etc_error_free(error);
  exit(1);
}

static void put(void *data, size_t at, etc_dtype dtype, int number) {
  const float value = (float)number;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (dtype == ETC_FP32) {
    memcpy((char *)data + 4 * at, &bits, 4);
  } else { /* bf16 is the upper half of fp32 */
    const uint16_t upper = (uint16_t)(bits >> 16);
    memcpy((char *)data + 2 * at, &upper, 2);
  }
}

/* Writes the expected contents of a device's shard of a tensor. */
static void fill(const etc_plan *plan, etc_side side, uint32_t rank,
                 size_t index, const etc_tensor_info *info, void *data) {
  size_t at = 0;
  for (uint32_t b = 0; b != info->box_count; ++b) {
    int64_t box[2 * ETC_MAX_AXES], place[ETC_MAX_AXES];
    must(etc_plan_box(plan, side, rank, index, b, box));
    const uint32_t axes = info->planning_axes;
    for (uint32_t axis = 0; axis != axes; ++axis)
      place[axis] = box[2 * axis];
    for (;;) {
      int64_t whole = (int64_t)strlen(info->name);
      for (uint32_t axis = 0; axis != axes; ++axis)
        whole = whole * info->planning_shape[axis] + place[axis];
      put(data, at++, info->dtype, (int)(whole % 251));
      uint32_t axis = axes;
      while (axis > 0 && ++place[axis - 1] == box[2 * axis - 1]) {
        place[axis - 1] = box[2 * axis - 2];
        --axis;
      }
      if (axis == 0)
        break;
    }
  }
}

static etc_tensor_info info_of(const etc_plan *plan, etc_side side,
                               uint32_t rank, size_t index) {
  etc_tensor_info info = {.struct_size = sizeof info};
  must(etc_plan_tensor(plan, side, rank, index, &info));
  return info;
}

static void release(void *context, etc_side side, const etc_tensor_info *tensor,
                    void *data, uint64_t bytes) {
  (void)context, (void)side, (void)tensor, (void)bytes;
  free(data);
}

static void *allocate(void *context, const etc_tensor_info *tensor,
                      uint64_t bytes) {
  (void)context, (void)tensor;
  return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

/* A trainer's tensors that the plan lists. */
static void hand_over(const etc_plan *plan, uint32_t rank,
                      etc_migration *migration) {
  const size_t count = etc_plan_tensor_count(plan, ETC_PREV, rank);
  for (size_t i = 0; i != count; ++i) {
    etc_tensor_info info = info_of(plan, ETC_PREV, rank, i);
    etc_tensor tensor = {.struct_size = sizeof tensor,
                         .dtype = info.dtype,
                         .data = allocate(NULL, &info, info.bytes),
                         .axes = info.axes};
    int64_t stride = 1;
    for (uint32_t axis = info.axes; axis-- > 0;) {
      tensor.shape[axis] = info.shape[axis];
      tensor.strides[axis] = stride;
      stride *= info.shape[axis];
    }
    fill(plan, ETC_PREV, rank, i, &info, tensor.data);
    must(etc_migration_register(migration, info.type, info.name, &tensor));
  }
}

/* The number of current tensors with unexpected contents. */
static int check(const etc_plan *plan, uint32_t rank,
                 const etc_migration *migration) {
  int wrong = 0;
  const size_t count = etc_plan_tensor_count(plan, ETC_CURR, rank);
  for (size_t i = 0; i != count; ++i) {
    etc_tensor_info info = info_of(plan, ETC_CURR, rank, i);
    void *data, *expected = allocate(NULL, &info, info.bytes);
    must(etc_migration_tensor(migration, i, &data, NULL));
    fill(plan, ETC_CURR, rank, i, &info, expected);
    wrong += memcmp(data, expected, info.bytes) != 0;
    free(expected);
    free(data);
  }
  return wrong;
}

static int run_device(const etc_plan *plan, uint32_t rank,
                      const char *directory) {
  etc_options options;
  etc_options_init(&options);
  options.participant = rank;
  options.directory = directory;
  options.host = "127.0.0.1";
  options.memory = (etc_memory){NULL, allocate, release};
  etc_migration *migration;
  must(etc_migration_create(plan, &options, &migration));
  hand_over(plan, rank, migration);
  must(
      etc_migration_prepare(migration)); /* a trainer continues training here */
  must(etc_migration_run(migration));
  /* The outcome says what this process holds, also after an error of run. */
  const int wrong = check(plan, rank, migration) +
                    (etc_migration_outcome(migration) != ETC_NEW);
  etc_report report = {.struct_size = sizeof report};
  must(etc_migration_report(migration, &report));
  printf(
      "device %u: sent %llu, received %llu bytes, peak %llu of %llu proved\n",
      report.device, (unsigned long long)report.sent_bytes,
      (unsigned long long)report.received_bytes,
      (unsigned long long)report.peak_bytes,
      (unsigned long long)report.proved_bytes);
  fflush(stdout);
  etc_migration_free(migration);
  return wrong != 0 || report.peak_bytes > report.proved_bytes;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: migrate DIRECTORY\n");
    return 2;
  }
  etc_plan *plan;
  must(etc_planner_plan(request, NULL, &plan));
  etc_text *summary;
  must(etc_planner_summary(plan, &summary));
  fputs(etc_text_data(summary), stdout);
  fflush(stdout);
  etc_text_free(summary);

  const uint32_t count = etc_plan_participant_count(plan);
  for (uint32_t rank = 0; rank != count; ++rank)
    if (fork() == 0)
      _exit(run_device(plan, rank, argv[1]));
  int failed = 0;
  for (uint32_t rank = 0; rank != count; ++rank) {
    int status;
    wait(&status);
    failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  etc_plan_free(plan);
  if (failed == 0)
    printf("%u devices migrated, every element is right\n", count);
  return failed != 0;
}
