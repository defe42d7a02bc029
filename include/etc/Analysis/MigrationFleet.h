//===- MigrationFleet.h - The devices of a migration and their state ------===//

#ifndef ETC_ANALYSIS_MIGRATIONFLEET_H
#define ETC_ANALYSIS_MIGRATIONFLEET_H

#include "dialect/Etc.h"
#include "etc/Optimize/Sources/Fleet.h"

namespace etc {

/// The devices of a migration, and what they hold of the previous state.
class MigrationFleet : public Fleet {
public:
  explicit MigrationFleet(MigrationOp migration);
};

/// The holders that a demand lists, ascending.
llvm::SmallVector<Holder, 0> readHolders(DemandOp op);

/// A holder as a role of the previous side; a pool is one without replica.
RoleAttr toRole(ParallelAttr prev, Holder holder);

} // namespace etc

#endif // ETC_ANALYSIS_MIGRATIONFLEET_H
