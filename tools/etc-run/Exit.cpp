#include "Exit.h"

#include "core/net/TlsSession.h"

#include <atomic>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <unistd.h>

using namespace etc::run;
using etc::plan::ErrorKind;
using etc::plan::Status;

int etc::run::exitCode(const Status &status) {
  switch (status.kind()) {
  case ErrorKind::None:
    return 0;
  case ErrorKind::Verification:
    return 1;
  case ErrorKind::Usage:
  case ErrorKind::Malformed:
    return 2;
  case ErrorKind::Peer:
  case ErrorKind::Excluded:
    return 3;
  }
  return 3;
}

int etc::run::fail(const Status &status) {
  // At once: other processes may be writing to the same place.
  std::cerr << "etc-run: " + status.message() + "\n";
  return exitCode(status);
}

int etc::run::failAfterCommit(const Status &status) {
  std::cerr << "etc-run: migrated, but " + status.message() + "\n";
  return kUntold;
}

namespace {

/// Of several threads the first one tells.
void claimLastWord() {
  static std::atomic_flag isTaken;
  if (isTaken.test_and_set())
    while (true)
      ::pause();
}

/// Without memory or locks, which may be what is missing.
[[noreturn]] void endOutOfMemory() {
  constexpr char line[] = "etc-run: out of memory; use a machine with more, or "
                          "raise the limit (ulimit -v)\n";
  claimLastWord();
  [[maybe_unused]] ssize_t ignored =
      ::write(STDERR_FILENO, line, sizeof line - 1);
  ::_exit(3);
}

/// An exception that no thread caught; a thread that cannot be started is one.
[[noreturn]] void endUncaught() {
  claimLastWord();
  try {
    if (std::exception_ptr error = std::current_exception())
      std::rethrow_exception(error);
  } catch (const std::exception &error) {
    const Status status(ErrorKind::Peer, error.what());
    (void)etc::run::fail(status);
  } catch (...) {
  }
  ::_exit(3);
}

} // namespace

void etc::run::nameResourceLimits() {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  std::set_new_handler(endOutOfMemory);
  etc::runtime::letNewHandlerServeTls();
  std::set_terminate(endUncaught);
}

void etc::run::leaveResourceLimitsToParent() {
  std::set_new_handler([] { ::_exit(kOutOfMemory); });
}
