// The outcome of a migration, as its journals tell it: the first line of
// etc-run status.

#ifndef ETC_RUN_OUTCOME_H
#define ETC_RUN_OUTCOME_H

#include "Options.h"
#include "core/engine/Keeping.h"
#include "core/plan/PlanIndex.h"
#include "recovery/Standings.h"

namespace etc::run {

/// Whether --failed names the device.
bool countsAsFailed(const Options &options, uint32_t device);

/// What a directory says, as a new attempt would take it up.
runtime::Keeping keepingOf(const Options &options,
                           const runtime::Survivors &standings);

/// The same of all journals that are there. A device that counts as failed and
/// has none needs no previous state.
runtime::Keeping keepingOfAll(const plan::PlanIndex &index,
                              const Options &options,
                              runtime::Survivors standings);

/// Where all of the state is, of a migration that has not begun.
std::string describeUnbegun(const plan::PlanIndex &index,
                            const Options &options,
                            const runtime::Keeping &keeping);

/// Of all journals that are there, also those of devices that count as failed:
/// these may have come further than the others. Claims nothing about a failed
/// device without one; one device is not failed at least. The first word is the
/// state that the migration ended in; scripts rely on it.
std::string describeOutcome(const plan::PlanIndex &index,
                            const Options &options,
                            const runtime::Survivors &standings);

} // namespace etc::run

#endif // ETC_RUN_OUTCOME_H
