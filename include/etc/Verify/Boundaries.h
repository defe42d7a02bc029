//===- Boundaries.h - What one stage hands to the next ----------*- C++ -*-===//
//
// The rules V1 to V11 begin with what the IR says. These compare the IR with
// what it was made from and what is made of it, so that no mistake slips in
// between. Each fails with a diagnostic of one line on the migration; all are
// defects of the planner, not of the request.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_VERIFY_BOUNDARIES_H
#define ETC_VERIFY_BOUNDARIES_H

#include "core/plan/plan_generated.h"
#include "dialect/Etc.h"
#include "etc/Request/Request.h"

namespace etc {

/// V12: a plan file says what its migration says: both configurations, where
/// ranks are, tensors with element types and shapes, the roles and memory of
/// programs, barred devices and duals. The plan must have passed the referee,
/// the migration must be proved.
mlir::LogicalResult verifyPlanFile(MigrationOp migration,
                                   const plan::fb::Plan &plan);

/// V13: a planned migration is the one that the checked request asks for.
mlir::LogicalResult verifyRequest(MigrationOp migration,
                                  const request::Request &request);

/// V14: the second of two stages begins as the first ends. Both are proved.
mlir::LogicalResult verifyNextStage(MigrationOp first, MigrationOp second);

/// V18: a plan of `lane`, whose tables those of `plan` are, is right for all
/// lanes of the request `all`: each group of devices is one of the lane's, and
/// by lib/Layout each of its devices holds before and after what the lane's
/// holds, as many parts further on as its number says; and as many bytes as
/// the plan states enter nodes. The migration is that of the lane.
mlir::LogicalResult verifyLanes(MigrationOp migration,
                                const plan::fb::Plan &plan,
                                const request::Request &lane,
                                const request::Request &all);

/// V19: a plan of `kinds`, which has one section of each kind, is right for all
/// sections of the request `all`: by lib/Layout each stage holds before and
/// after what that of the plan holds, as many layers further on as the section
/// is; previous ranks are on their devices; and as many bytes as the plan
/// states enter nodes. The migration is that of `kinds`, or of a lane of it.
mlir::LogicalResult verifySections(MigrationOp migration,
                                   const plan::fb::Plan &plan,
                                   const request::Request &kinds,
                                   const request::Request &all);

} // namespace etc

#endif // ETC_VERIFY_BOUNDARIES_H
