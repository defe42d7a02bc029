// How a process learns that the others went on without it.

#ifndef ETC_RUNTIME_JOB_EXCLUDED_H
#define ETC_RUNTIME_JOB_EXCLUDED_H

#include "core/plan/Status.h"

namespace etc::runtime {

/// They gave it up.
inline plan::Status excluded(const std::string &why = {}) {
  return {plan::ErrorKind::Excluded, "the others went on without this process" +
                                         (why.empty() ? why : ": " + why)};
}

/// It comes from an earlier change than those that it meets. Changes of a job
/// are numbered; messages and handshakes carry the number.
inline plan::Status excluded(uint32_t own, uint32_t theirs) {
  return excluded(
      plan::text("it is at change ", own, ", they are at ", theirs));
}

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_EXCLUDED_H
