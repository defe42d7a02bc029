// How etc-run ends.

#ifndef ETC_RUN_EXIT_H
#define ETC_RUN_EXIT_H

#include "core/plan/Status.h"

namespace etc::run {

/// What the process exits with, as docs/cli.md has it.
int exitCode(const plan::Status &status);

/// Tells the user; returns the exit code.
int fail(const plan::Status &status);

/// What the process exits with where the migration is committed, but what it
/// came to could not be told.
constexpr int kUntold = 4;

/// The migration is committed, but what it came to could not be told. Tells the
/// user that; returns the exit code.
int failAfterCommit(const plan::Status &status);

/// What a child exits with that is out of memory: its parent tells the user.
constexpr int kOutOfMemory = 5;

/// A write beyond `ulimit -f`, or to a pipe that nobody reads, fails, in place
/// of ending the process. Running
/// out of memory, in any thread, ends it with one line.
void nameResourceLimits();
/// The same in a child, which ends with kOutOfMemory and says nothing.
void leaveResourceLimitsToParent();

} // namespace etc::run

#endif // ETC_RUN_EXIT_H
