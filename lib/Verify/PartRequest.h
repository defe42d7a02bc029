//===- PartRequest.h - A request that stands for a larger one ---*- C++ -*-===//
//
// What V18 and V19 ask alike of the request of a part, a lane or one section of
// each kind, and of the request of all.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_VERIFY_PARTREQUEST_H
#define ETC_LIB_VERIFY_PARTREQUEST_H

#include "Comparison.h"
#include "etc/Model/Model.h"

namespace etc {

/// The model of a checked request, with the types that either side shards.
model::Model modelOf(const request::Request &request);

/// What decides about a device is asked of the part as of all.
mlir::LogicalResult compareWords(const Comparison &comparison,
                                 const request::Request &part,
                                 const request::Request &all);

} // namespace etc

#endif // ETC_LIB_VERIFY_PARTREQUEST_H
