/* The C API of ETC's planner: plans requests in process. run.h executes plans
 * and does not need the planner.
 *
 *   etc_plan *plan;
 *   etc_planner_plan("{\"model\": \"gpt2\", \"prev\": \"PP2\", "
 *                    "\"curr\": \"PP4\", \"cluster\": {...}}", NULL, &plan);
 *
 * Errors, versions and ownership follow the rules of run.h.
 *
 * Threads. Any thread may plan, and several may plan concurrently: they share
 * no state. */

#ifndef ETC_C_PLAN_H
#define ETC_C_PLAN_H

#include "etc-c/run.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ETC_PLAN_API_VERSION 2

/* The library's ETC_PLAN_API_VERSION. */
ETC_API uint32_t etc_planner_api_version(void);

/* Since 2. The rates for which times are predicted: GB/s (decimal) of a device
 * in each direction, 0.001 to 1000000. */
typedef struct etc_rates {
  double between_nodes;
  double inside_node;
} etc_rates;

typedef struct etc_planner_options {
  uint32_t struct_size;   /* sizeof(etc_planner_options), set by the caller */
  const etc_rates *rates; /* NULL: those of the request's or plan's cluster */
} etc_planner_options;

/* Plans a request: JSON in UTF-8, as etc-opt reads it from a file. Paths in it
 * are relative to the working directory. `options` may be NULL. Fails with
 * ETC_ERROR_MALFORMED, or with ETC_ERROR_UNSATISFIABLE if the request cannot be
 * met; messages begin with the field and state what would be valid. The same
 * request gives the same plan, byte for byte, wherever the same build runs. */
ETC_API etc_error *etc_planner_plan(const char *request,
                                    const etc_planner_options *options,
                                    etc_plan **plan);

/* Since 2. The two plans of "policy": "paper" with de-fragmentation as a
 * separate migration, as with etc-opt --two-stage: the first to the assigned
 * roles, the second from there to their final devices. Any other policy is
 * ETC_ERROR_MALFORMED. The caller owns both plans. */
ETC_API etc_error *etc_planner_two_stage(const char *request,
                                         const etc_planner_options *options,
                                         etc_plan **assigned,
                                         etc_plan **defragmented);

/* Since 2. One plan of `count` requests that follow each other, one at least,
 * as of etc-opt FIRST.json SECOND.json: what a device would receive only to
 * pass on goes straight to its final device. Each request after the first
 * begins where the one before ends, and may leave "prev" out. `journal` is the
 * directory of the first migration's journal, or NULL; if that migration has
 * begun, the chain is ETC_ERROR_UNSATISFIABLE. Messages name the request, such
 * as requests[1]. */
ETC_API etc_error *etc_planner_chain(const char *const *requests, size_t count,
                                     const char *journal,
                                     const etc_planner_options *options,
                                     etc_plan **plan);

/* UTF-8 text, owned by the caller. */
typedef struct etc_text etc_text;

ETC_API const char *etc_text_data(const etc_text *text); /* ends with a 0 */
ETC_API size_t etc_text_size(const etc_text *text);
ETC_API void etc_text_free(etc_text *text);

/* The output of etc-opt --emit=json for `count` devices, or for all devices if
 * `devices` is NULL. */
ETC_API etc_error *etc_planner_json(const etc_plan *plan,
                                    const uint32_t *devices, size_t count,
                                    etc_text **text);
/* A summary of the plan in a few human-readable lines. */
ETC_API etc_error *etc_planner_summary(const etc_plan *plan, etc_text **text);

/* ---- Since 2: the other queries of etc-opt ----
 *
 * Requests, options and errors are those of etc_planner_plan; other invalid
 * arguments are ETC_ERROR_USAGE. Answers are JSON unless stated otherwise;
 * docs/which-nodes.md documents the formats. */

/* Human-readable lines, as of etc-opt --emit=summary: what the request's plan
 * moves, the price of its placement, and what the trainer has to set itself. */
ETC_API etc_error *etc_planner_explain(const char *request,
                                       const etc_planner_options *options,
                                       etc_text **text);
/* How much more the plan moves under the request's placement than with roles on
 * any device: {"place", "relays_aside", "moved_bytes", "internode_bytes",
 * "seconds", "of_pause"}, with null for what is not known; null if there is no
 * price, for example because the request already allows any device. If state is
 * deferred, of_pause is true, and the seconds are those of the pause. */
ETC_API etc_error *etc_planner_price(const char *request,
                                     const etc_planner_options *options,
                                     etc_text **text);
/* What the plan takes, moves, splits and frees under each placement and
 * objective, as of etc-opt --frontier. */
ETC_API etc_error *etc_planner_frontier(const char *request,
                                        const etc_planner_options *options,
                                        etc_text **text);
/* The `count` nodes that are cheapest to give back, as of etc-opt
 * --which-nodes. */
ETC_API etc_error *etc_planner_which_nodes(const char *request, uint32_t count,
                                           const etc_planner_options *options,
                                           etc_text **text);
/* The rank of every device, and files for launchers, as of etc-opt
 * --emit=ranks, in the format of docs/ranks.md. `hosts` names the nodes; if
 * `count` is 0 they are node0, node1, ... */
ETC_API etc_error *etc_planner_ranks(const etc_plan *plan,
                                     const char *const *hosts, size_t count,
                                     etc_text **text);
/* The plan as one HTML page, as of etc-opt PLAN --emit=report. Without rates,
 * times are predicted for the cluster that the plan names. */
ETC_API etc_error *etc_planner_report(const etc_plan *plan,
                                      const etc_planner_options *options,
                                      etc_text **text);

#ifdef __cplusplus
}
#endif

#endif /* ETC_C_PLAN_H */
