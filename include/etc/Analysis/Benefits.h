//===- Benefits.h - What current roles keep where they are put --*- C++ -*-===//

#ifndef ETC_ANALYSIS_BENEFITS_H
#define ETC_ANALYSIS_BENEFITS_H

#include "etc/Analysis/NodeClasses.h"

namespace etc {

/// What assignment and placement are posed from. A migration must have its
/// costs in bytes.
struct Benefits {
  Benefits(MigrationOp migration, const TensorTable &table,
           const Devices &devices, const Holdings &prev, const Holdings &curr);
  Benefits(MigrationOp migration, mlir::AnalysisManager &analyses);

  NodeClasses classes;
  placement::BenefitTable onDevice; ///< [current role][previous role]
  placement::BenefitTable onNode;   ///< [current role][node class]
};

} // namespace etc

#endif // ETC_ANALYSIS_BENEFITS_H
