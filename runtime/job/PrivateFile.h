// Files through which the processes of one user tell each other something, in a
// directory that others may be able to write to.

#ifndef ETC_RUNTIME_JOB_PRIVATEFILE_H
#define ETC_RUNTIME_JOB_PRIVATEFILE_H

#include "core/plan/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Result;
using plan::Status;
using plan::text;

/// Writes a file that only this user can read. It gets its name, in place of
/// what had that before, when it is whole; links are not followed. The error is
/// of kind Usage.
Status writePrivate(const std::string &path, std::string_view content);

/// The same, where nothing has the name yet; whether it got it.
Result<bool> writePrivateOnce(const std::string &path,
                              std::string_view content);

/// The content of such a file, or nothing where there is none yet. Refuses,
/// with kind Usage, what writePrivate of this user would not have made: a link,
/// a file of another user or with other permissions, one above `mostBytes`.
Result<std::optional<std::string>> readPrivate(const std::string &path,
                                               uint64_t mostBytes);

/// Removes such a file, unless it is gone or has another content by now: then
/// it is another process's, and false is returned.
bool removePrivate(const std::string &path, std::string_view content);

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_PRIVATEFILE_H
