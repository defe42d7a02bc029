// What columns have of roles, by a plan's shards.
//
// The bytes that the columns of a plan's certificate (previous roles, or
// classes of nodes) have of current roles. Replicas of a pool (a stage and a
// slot) hold most shards in common; those are counted once for a pool, and for
// all columns that reach the same pools.

#ifndef ETC_PROOF_PLANBENEFITS_H
#define ETC_PROOF_PLANBENEFITS_H

#include "core/plan/Certificates.h"
#include "core/plan/Configuration.h"

#include <map>
#include <vector>

namespace etc {

/// What the roles of one side hold, by shard number.
struct RoleShards {
  RoleShards(const plan::PlanIndex &index, plan::Side side);

  std::vector<uint64_t> poolOf;              ///< [role]
  std::vector<std::vector<uint32_t>> shared; ///< [pool]
  std::vector<std::vector<uint32_t>> own;    ///< [role] beside those

private:
  void join(const plan::fb::Role &role, uint64_t number);
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> pools; ///< by stage, slot
};

/// Bytes that a column has of a row: the sum of four parts, of which all but
/// the first are sparse.
struct PlanBenefits {
  PlanBenefits(const plan::PlanIndex &index, const plan::Columns &columns);

  using Sparse = std::vector<std::map<uint64_t, uint64_t>>;
  uint64_t of(uint64_t row, uint64_t column) const;

  std::vector<uint64_t> poolOf;  ///< [row]
  std::vector<uint64_t> groupOf; ///< [column]
  uint64_t groups = 0;
  std::vector<std::vector<uint64_t>> pools; ///< [pool][group]
  Sparse poolsOnColumns;                    ///< [pool] by column
  Sparse rowsOnGroups;                      ///< [row] by group
  Sparse rowsOnColumns;                     ///< [row] by column
};

} // namespace etc

#endif // ETC_PROOF_PLANBENEFITS_H
