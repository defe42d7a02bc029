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

#define ETC_PLAN_API_VERSION 2

/* The library's ETC_PLAN_API_VERSION. */
ETC_API uint32_t etc_planner_api_version(void);

/* Since 2. What times are predicted for: GB/s (decimal) of a device in each
 * direction, 0.001 to 1000000. */
typedef struct etc_rates {
  double between_nodes;
  double inside_node;
} etc_rates;

typedef struct etc_planner_options {
  uint32_t struct_size;   /* sizeof(etc_planner_options), set by the caller */
  const etc_rates *rates; /* NULL: 50 and 450 */
} etc_planner_options;

/* Plans a request, which is what etc-opt reads from a file: JSON in UTF-8.
 * Paths in it are relative to the working directory. `options` may be NULL.
 * Errors are ETC_ERROR_MALFORMED, or ETC_ERROR_UNSATISFIABLE where the request
 * can't be met; messages begin with the field and say what would be accepted.
 * The same request gives the same plan on any machine, byte for byte. */
ETC_API etc_error *etc_planner_plan(const char *request,
                                    const etc_planner_options *options,
                                    etc_plan **plan);

/* Since 2. The two plans of "policy": "paper" that de-fragments in a migration
 * of its own, as of etc-opt --two-stage: to the assigned roles, and from there
 * to their devices. Another policy is ETC_ERROR_MALFORMED. Both plans are the
 * caller's. */
ETC_API etc_error *etc_planner_two_stage(const char *request,
                                         const etc_planner_options *options,
                                         etc_plan **assigned,
                                         etc_plan **defragmented);

/* UTF-8, freed by the caller. */
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

/* ---- Since 2: what etc-opt answers beside plans ----
 *
 * Requests, options and errors are those of etc_planner_plan; further arguments
 * that are wrong are ETC_ERROR_USAGE. Answers are JSON where nothing else is
 * said; docs/which-nodes.md has their formats. */

/* Lines for people, as of etc-opt --emit=summary: what the request's plan
 * moves, the price of its placement, and what a trainer sets for itself. */
ETC_API etc_error *etc_planner_explain(const char *request,
                                       const etc_planner_options *options,
                                       etc_text **text);
/* What the placement of the request's plan moves more than roles on any device
 * would: {"place", "relays_aside", "moved_bytes", "internode_bytes"}, or null
 * where roles may go anywhere anyway. */
ETC_API etc_error *etc_planner_price(const char *request,
                                     const etc_planner_options *options,
                                     etc_text **text);
/* What the plan under each placement and objective moves, splits and frees; as
 * of etc-opt --frontier. */
ETC_API etc_error *etc_planner_frontier(const char *request,
                                        const etc_planner_options *options,
                                        etc_text **text);
/* Which `count` nodes are cheapest to give back; as of etc-opt --which-nodes.
 */
ETC_API etc_error *etc_planner_which_nodes(const char *request, uint32_t count,
                                           const etc_planner_options *options,
                                           etc_text **text);
/* The rank that every device takes, and files for launchers; as of etc-opt
 * --emit=ranks, in the format of docs/ranks.md. `hosts` names the nodes; where
 * `count` is 0 they are node0, node1, ... */
ETC_API etc_error *etc_planner_ranks(const etc_plan *plan,
                                     const char *const *hosts, size_t count,
                                     etc_text **text);
/* The plan as one HTML page; as of etc-opt PLAN --emit=report. Without rates,
 * times are predicted for nodes with H100 GPUs. */
ETC_API etc_error *etc_planner_report(const etc_plan *plan,
                                      const etc_planner_options *options,
                                      etc_text **text);

#ifdef __cplusplus
}
#endif

#endif /* ETC_C_PLAN_H */
