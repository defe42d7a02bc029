//===- RoundTable.h - When each tensor moves --------------------*- C++ -*-===//

#ifndef ETC_ANALYSIS_ROUNDTABLE_H
#define ETC_ANALYSIS_ROUNDTABLE_H

#include "etc/Analysis/ProgramFlows.h"

namespace etc {

/// The cut of every item in each of its types, from the `etc.schedule` of a
/// migration.
class RoundTable {
public:
  RoundTable(MigrationOp migration, const ProgramFlows &flows);

  /// Null where there is none.
  CutOp find(unsigned item, unsigned type) const {
    return cuts[item * types + type];
  }

private:
  const size_t types;
  std::vector<CutOp> cuts; ///< [item][type]
};

} // namespace etc

#endif // ETC_ANALYSIS_ROUNDTABLE_H
