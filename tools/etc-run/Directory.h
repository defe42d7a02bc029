// The directory that a migration leaves its journals in.

#ifndef ETC_RUN_DIRECTORY_H
#define ETC_RUN_DIRECTORY_H

#include "Options.h"
#include "core/engine/Keeping.h"
#include "core/journal/Lock.h"
#include "core/plan/PlanFile.h"
#include "recovery/Standings.h"

namespace etc::run {

/// Makes the directory `path` where there is none, and locks it. Only for a
/// process that runs all participants: others share it.
plan::Result<runtime::LockedDirectory> claimDirectory(const std::string &path);

/// Makes the directory of a new migration of `ranks` and puts the plan and the
/// options there. The error, of kind Usage, says what is in the way.
plan::Status makeDirectory(const Options &options, const plan::PlanFile &file,
                           const plan::PlanIndex &index,
                           const std::vector<uint32_t> &ranks);

/// Takes out the devices that --failed says are gone.
plan::Status dropFailed(const plan::PlanIndex &index, const Options &options,
                        runtime::Survivors &standings);

/// Where the state of a migration is.
std::string stateDirectory(const Options &options);

/// Where the state of a migration is that has not begun, in words.
std::string describeSource(const Options &options);

/// After a failure: writes the inventory of those that noted that they stopped,
/// waiting a little for them. Returns a line about it for the user; empty where
/// there is no journal.
std::string noteSurvivors(const plan::PlanIndex &index, const Options &options);

} // namespace etc::run

#endif // ETC_RUN_DIRECTORY_H
