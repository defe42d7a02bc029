// Files of state: where a run begins, and what it leaves.

#ifndef ETC_RUN_CONVERT_H
#define ETC_RUN_CONVERT_H

#include "Options.h"

#include "state/source/StoredState.h"

#include <memory>

namespace etc::run {

/// The state of --in, which has all that these ranks hold before and, where the
/// result is compared with it, after the migration.
plan::Result<std::unique_ptr<runtime::StoredState>>
openStoredState(const plan::PlanIndex &index, const Options &options,
                const std::vector<uint32_t> &ranks);

/// From --in to --out, file to file. Prints what was done.
plan::Status convert(const plan::PlanIndex &index, const Options &options);

} // namespace etc::run

#endif // ETC_RUN_CONVERT_H
