/* The C API of ETC's planner: a request becomes a plan, in process. run.h
 * executes plans, and needs no planner.
 *
 *   etc_plan *plan;
 *   etc_planner_plan("{\"model\": \"gpt2\", \"prev\": \"PP2\", "
 *                    "\"curr\": \"PP4\", \"cluster\": {...}}", NULL, &plan);
 *
 * Errors, versions and ownership are as in run.h.
 *
 * Threads. Any thread may plan, several at once: they share nothing. */

#ifndef ETC_C_PLAN_H
#define ETC_C_PLAN_H

#include "etc-c/run.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ETC_PLAN_API_VERSION 1

/* The library's ETC_PLAN_API_VERSION. */
ETC_API uint32_t etc_planner_api_version(void);

typedef enum etc_objective {
  ETC_INTERNODE = 0, /* fewest bytes between nodes, then fewest in all, if the
                      * request's "objective" does not say otherwise */
  ETC_TOTAL = 1      /* the other way round, whatever the request says */
} etc_objective;

typedef struct etc_planner_options {
  uint32_t struct_size; /* sizeof(etc_planner_options), set by the caller */
  etc_objective objective;
} etc_planner_options;

/* Plans a request, which is what etc-opt reads from a file: JSON in UTF-8.
 * Paths in it are relative to the working directory. `options` may be NULL.
 * Errors are ETC_ERROR_MALFORMED, or ETC_ERROR_UNSATISFIABLE where the request
 * can't be met; messages begin with the field and say what would be accepted.
 * The same request gives the same plan on any machine, byte for byte. */
ETC_API etc_error *etc_planner_plan(const char *request,
                                    const etc_planner_options *options,
                                    etc_plan **plan);

typedef struct etc_text etc_text;

ETC_API const char *etc_text_data(const etc_text *text); /* ends with a 0 */
ETC_API size_t etc_text_size(const etc_text *text);
ETC_API void etc_text_free(etc_text *text);

/* What etc-opt --emit=json writes; of `count` devices, or of all where
 * `devices` is NULL. */
ETC_API etc_error *etc_planner_json(const etc_plan *plan,
                                    const uint32_t *devices, size_t count,
                                    etc_text **text);
/* What the plan does, in a few lines for people. */
ETC_API etc_error *etc_planner_summary(const etc_plan *plan, etc_text **text);

#ifdef __cplusplus
}
#endif

#endif /* ETC_C_PLAN_H */
