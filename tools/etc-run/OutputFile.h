// Files that a user names as output.

#ifndef ETC_RUN_OUTPUTFILE_H
#define ETC_RUN_OUTPUTFILE_H

#include "core/plan/Status.h"

#include <string>
#include <string_view>

namespace etc::run {

/// Whether a file can be written there, as far as can be told before: the
/// folder is there, and the name is not that of a folder, a FIFO or a socket.
/// The error is of kind Usage.
plan::Status checkOutputFile(const std::string &path);

/// Writes beside the name, which a whole file then takes: several processes may
/// write the same one. A device is written to as it is. The error, of kind
/// Usage, says what to do.
plan::Status writeOutputFile(const std::string &path, std::string_view content);

} // namespace etc::run

#endif // ETC_RUN_OUTPUTFILE_H
