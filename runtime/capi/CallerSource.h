// A checkpoint that the caller reads.

#ifndef ETC_RUNTIME_CAPI_CALLERSOURCE_H
#define ETC_RUNTIME_CAPI_CALLERSOURCE_H

#include "state/checkpoint/BoxSource.h"

#include "etc-c/recover.h"

#include <memory>

namespace etc::runtime {

/// Where it has a tensor under no name of its own, it is asked for tied copies.
std::unique_ptr<const BoxSource> makeCallerSource(const etc_box_source &source);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CAPI_CALLERSOURCE_H
