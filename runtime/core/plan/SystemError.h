// Error numbers in words, with what to do about those that a user can mend.

#ifndef ETC_PLAN_SYSTEMERROR_H
#define ETC_PLAN_SYSTEMERROR_H

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace etc::plan {

inline bool isOutOfDescriptors(int error) {
  return error == EMFILE || error == ENFILE;
}

/// What to do about memory that is not there; follows what was wanted.
inline constexpr char kMoreMemory[] =
    "; use a machine with more, or raise the limit (ulimit -v)";

inline std::string describeSystemError(int error) {
  std::string words = std::strerror(error);
  if (error == ENOMEM)
    words += kMoreMemory;
  if (isOutOfDescriptors(error))
    words += "; raise the limit (ulimit -n)";
  if (error == ENOSPC || error == EDQUOT)
    words += "; make room, or name another directory";
  return words;
}

inline std::string describeThreadError(const std::system_error &error) {
  return std::string("cannot start a thread: ") + error.what() +
         "; raise the limits of memory and processes (ulimit -v, ulimit -u)";
}

} // namespace etc::plan

#endif // ETC_PLAN_SYSTEMERROR_H
