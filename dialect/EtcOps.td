//===- EtcOps.td - Operations of the etc dialect -----------*- tablegen -*-===//
//
// One file for each group of stages, in their order. An op belongs to the stage
// that adds it.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_DIALECT_OPS_TD
#define ETC_DIALECT_OPS_TD

include "dialect/EtcRequestOps.td"
include "dialect/EtcPlanningOps.td"
include "dialect/EtcTransferOps.td"
include "dialect/EtcInstructionOps.td"

#endif // ETC_DIALECT_OPS_TD
