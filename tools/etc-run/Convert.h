// From files of state to files of state, without devices.

#ifndef ETC_RUN_CONVERT_H
#define ETC_RUN_CONVERT_H

#include "Options.h"

#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"

namespace etc::run {

/// From --in to --out, file to file. Prints what was done.
plan::Status convert(const plan::PlanIndex &index, const Options &options);

} // namespace etc::run

#endif // ETC_RUN_CONVERT_H
