// What a migration would come to, with nothing moved.

#ifndef ETC_RUN_DRYRUN_H
#define ETC_RUN_DRYRUN_H

#include "Options.h"

#include "core/plan/PlanIndex.h"

namespace etc::run {

/// Prints what a run with these options will count, by device: exact bytes and
/// peaks; and, where the options name a cluster, the time it would take there.
plan::Status printForecast(const plan::PlanIndex &index,
                           const Options &options);

} // namespace etc::run

#endif // ETC_RUN_DRYRUN_H
