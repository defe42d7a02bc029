// Where a migration keeps what has to survive its processes.

#ifndef ETC_RUNTIME_CORE_ENGINE_KEEPING_H
#define ETC_RUNTIME_CORE_ENGINE_KEEPING_H

#include "core/device/Worker.h"
#include "core/engine/StateSource.h"
#include "core/journal/Journal.h"

#include <memory>

namespace etc::runtime {

using plan::PlanIndex;

/// Directories, and what is known from an earlier attempt. Shared by all
/// devices of a run.
struct Keeping {
  std::string journals; // the journals' directory; empty: none are written
  std::string state;    // the tensors' directory; empty: ordinary memory
  /// By rank, of the attempt that this run resumes; empty for a new migration.
  std::vector<Standing> standings;
  /// Where the previous state comes from, which a run has to say. Not owned.
  const StateSource *source = nullptr;

  bool isResumed() const { return !standings.empty(); }
  /// Whether somebody knows that all were ready to commit.
  bool isDecided() const;
  uint32_t landed(uint32_t rank) const {
    return standings.empty() ? 0 : standings[rank].landed;
  }
};

/// The files of one device.
std::string journalPath(const std::string &directory, uint32_t device);
std::string statePath(const std::string &directory, uint32_t device);

/// A device in host memory, which is in files where there is a directory for
/// state.
std::unique_ptr<Worker> makeHostWorker(const Keeping &keeping, uint32_t device);

/// A new journal, the one that a resumed run goes on with, or none.
Result<Journal> openJournal(const Keeping &keeping, const PlanIndex &index,
                            uint32_t rank, Mode mode);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_KEEPING_H
