#include "job/Rendezvous.h"

#include "job/Excluded.h"

#include <sstream>

using namespace etc::runtime;

namespace {

/// Under which whoever cannot take part leaves its cause: the generation, the
/// rank that it gave up or -1, and the cause in one line.
const std::string kRefusal = "refused";

/// Between two looks at it.
constexpr Milliseconds kLook{250};
/// A look does not wait.
constexpr Milliseconds kAtOnce{1};

} // namespace

Result<std::string> ChangeRendezvous::get(const std::string &key,
                                          const Deadline &deadline) {
  while (true) {
    const Milliseconds slice = std::min(deadline.left(), kLook);
    const auto begin = Deadline::Clock::now();
    Result<std::string> value = inner->get(key, slice);
    if (value || value.status().kind() != ErrorKind::Peer)
      return value;
    if (Status s = check(); !s.ok())
      return s;
    if (deadline.isOver())
      return Status(ErrorKind::Peer, text("no value of ", key, " within ",
                                          deadline.seconds(), " s"));
    if (Deadline::Clock::now() - begin < slice / 2)
      return value; // it did not wait: something else is wrong
  }
}

Status ChangeRendezvous::check() {
  if (stop)
    return Status(ErrorKind::Peer, "stopped");
  if (found.ok() && nextLook.isOver()) {
    found = look();
    nextLook = kLook;
  }
  return found;
}

Status ChangeRendezvous::look() {
  Result<std::string> value = inner->get(kRefusal, kAtOnce);
  if (!value)
    return Status::success();
  std::istringstream in(*value);
  uint32_t change = 0;
  int64_t missing = -1;
  std::string cause;
  if (!(in >> change >> missing) || change < generation)
    return Status::success(); // of an earlier change
  std::getline(in >> std::ws, cause);
  if (missing == rank || change > generation)
    return excluded(cause);
  return Status(ErrorKind::Peer, cause);
}

void ChangeRendezvous::refuse(const std::string &cause,
                              std::optional<uint32_t> missing) {
  if (!found.ok() || !look().ok())
    return;
  (void)inner->put(kRefusal,
                   text(generation, " ", missing ? int64_t{*missing} : -1, " ",
                        cause.substr(0, cause.find('\n'))));
}
