// Where a program around etc-run can take part in a run. etc-run itself leaves
// them empty.

#ifndef ETC_RUN_HOOKS_H
#define ETC_RUN_HOOKS_H

#include "core/engine/Observer.h"
#include "core/transport/Transport.h"

#include <functional>
#include <memory>

namespace etc::run {

struct Hooks {
  runtime::Observer *observer = nullptr;
  /// Puts something between a device and its transport.
  std::function<std::unique_ptr<runtime::Transport>(runtime::Transport &,
                                                    uint32_t device)>
      wrap = {};
};

/// The whole program, but for main.
int runMain(int argc, char **argv, const Hooks &hooks);
/// Those of this process.
const Hooks &hooks();

} // namespace etc::run

#endif // ETC_RUN_HOOKS_H
