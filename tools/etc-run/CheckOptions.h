// Which options of etc-run go together.

#ifndef ETC_RUN_CHECKOPTIONS_H
#define ETC_RUN_CHECKOPTIONS_H

#include "Options.h"

namespace etc::run {

/// The error, of kind Usage, says what to write instead.
plan::Status checkTogether(const Options &options);

} // namespace etc::run

#endif // ETC_RUN_CHECKOPTIONS_H
