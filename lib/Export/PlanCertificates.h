//===- PlanCertificates.h - The certificates of a plan file ---------------===//

#ifndef ETC_LIB_EXPORT_PLANCERTIFICATES_H
#define ETC_LIB_EXPORT_PLANCERTIFICATES_H

#include "core/plan/plan_generated.h"
#include "dialect/Etc.h"

namespace etc {

/// Writes the certificates of a migration into a plan whose tensors and
/// programs are there, and the summary's bounds. `needed`: the bytes that
/// devices send and keep of types that move.
void writeCertificates(MigrationOp migration, uint64_t needed,
                       plan::fb::PlanT &plan);

} // namespace etc

#endif // ETC_LIB_EXPORT_PLANCERTIFICATES_H
