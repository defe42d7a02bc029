// Rounds are compared by their time up to so many sends and receives of devices: three matrices from each of two devices
// to another are three sends and three receives twice, 12 in all. A migration of more loses the mark of its routes, so
// that it is not planned by bytes as well.

// RUN: etc-opt %s --pass-pipeline='builtin.module(etc.migration(etc-schedule-chunks{by-time=true}))' | FileCheck %s --check-prefix=KEPT
// RUN: etc-opt %s --pass-pipeline='builtin.module(etc.migration(etc-schedule-chunks{by-time=true most-transfers=12}))' | FileCheck %s --check-prefix=KEPT
// RUN: etc-opt %s --pass-pipeline='builtin.module(etc.migration(etc-schedule-chunks{by-time=true most-transfers=11}))' | FileCheck %s --check-prefix=LOST

// KEPT: etc.migration @matrices
// KEPT-SAME: etc.by_time
// LOST: etc.migration @matrices
// LOST-NOT: etc.by_time
// LOST: etc.schedule
etc.migration @matrices PP1DP2 to PP1DP2 nodes [4] layers 3 types [master : f32]
    resources<"test" link 1000000000 after 0 nics 1 of 1000000000 after 1000 pack 1000000000> stage routed
    attributes {budget_ppm = 3000000 : i64, etc.by_time} {
  etc.tensor "decoder.layers.{layer}.weight" in layer [12, 256]
  etc.workload prev P0T0 [L0..2]
  etc.workload curr P0T0 [L0..2]
  etc.placement [2, 3]
  etc.transfers {
    etc.transfer [L0..2] [master] from [0, 1] to [2, 3]
  }
}
