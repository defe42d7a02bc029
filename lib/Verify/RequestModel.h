//===- RequestModel.h - V13: a migration against the model ------*- C++ -*-===//

#ifndef ETC_LIB_VERIFY_REQUESTMODEL_H
#define ETC_LIB_VERIFY_REQUESTMODEL_H

#include "Comparison.h"
#include "etc/Request/Request.h"

namespace etc {

/// A migration has the types of the request, in the model's element types, and
/// tensors of the model's sizes. The sizes of a known family are worked out
/// from hidden, heads, ffn, vocab and experts for the matrices that tensor
/// parallelism cuts, those of a table for all rows; not where a side is an
/// inventory, which has its own. Takes time linear in templates.
mlir::LogicalResult checkRequestModel(MigrationOp migration,
                                      const request::Request &request,
                                      const Comparison &comparison);

} // namespace etc

#endif // ETC_LIB_VERIFY_REQUESTMODEL_H
