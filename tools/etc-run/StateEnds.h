// Both ends of a run: where its previous state comes from, and where its
// current state goes.

#ifndef ETC_RUN_STATEENDS_H
#define ETC_RUN_STATEENDS_H

#include "Options.h"

#include "core/engine/DeviceRun.h"
#include "core/plan/PlanFile.h"
#include "state/source/StateFiles.h"
#include "state/source/StateFolder.h"
#include "state/source/StoredState.h"

#include <memory>

namespace etc::run {

/// The state of --in, which has all that these ranks hold before and, where the
/// result is compared with it, after the migration.
plan::Result<std::unique_ptr<runtime::StoredState>>
openStoredState(const plan::PlanIndex &index, const Options &options,
                const std::vector<uint32_t> &ranks);

/// What a run refers to, so it has to live as long.
class StateEnds {
public:
  /// Opens --in, and makes the folder of --out.
  plan::Status openFiles(const plan::PlanIndex &index, const Options &options,
                         const std::vector<uint32_t> &ranks,
                         runtime::RunOptions &run);
  /// Opens what the migration in --from left, unless all devices of a resumed
  /// run have read it.
  plan::Status openLeft(const Options &options, runtime::RunOptions &run);
  /// Completes --out, when all devices have written.
  plan::Status finish(const plan::PlanIndex &index) const;

private:
  std::unique_ptr<runtime::StoredState> stored;
  std::optional<runtime::StateFolder> folder;
  std::optional<plan::PlanFile> leftFile;
  std::optional<plan::PlanIndex> leftIndex;
  std::unique_ptr<runtime::LeftState> left;
};

} // namespace etc::run

#endif // ETC_RUN_STATEENDS_H
