//===- BoundRoles.h - A time that no roles are below ------------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_BOUNDROLES_H
#define ETC_LIB_TRANSFORMS_BOUNDROLES_H

#include "etc/Analysis/Benefits.h"

namespace etc {

/// Writes an `etc.role_bound` where the migration states resources and anything
/// has to move, whichever roles devices take. None where the request fixes
/// devices, where a side is an inventory, and where there are more than 32 768
/// pairs of a role and a column: proving it would take longer than it is worth.
void writeRoleBound(MigrationOp migration, const TensorTable &table,
                    const BothHoldings &holdings, const Devices &devices,
                    const NodeClasses &classes);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_BOUNDROLES_H
