// How etc-run ends.

#ifndef ETC_RUN_EXIT_H
#define ETC_RUN_EXIT_H

#include "plan/Status.h"

namespace etc::run {

/// What the process exits with, as docs/cli.md has it.
int exitCode(const plan::Status &status);

/// Tells the user; returns the exit code.
int fail(const plan::Status &status);

} // namespace etc::run

#endif // ETC_RUN_EXIT_H
