// Where a schedule surely takes as long as a faster one should, it is an error: three matrices of 12 288 bytes go from
// each of two devices to another, over links of 1 GB/s, whatever the rounds are.

// RUN: etc-opt %s --pass-pipeline='builtin.module(etc.migration(etc-schedule-chunks{faster-than=0.00003687}))' | FileCheck %s
// RUN: not etc-opt %s --pass-pipeline='builtin.module(etc.migration(etc-schedule-chunks{faster-than=0.00003686}))' 2>&1 | FileCheck %s --check-prefix=SLOW

// CHECK: etc.schedule
// SLOW: [[@LINE+1]]:1: error: takes at least 0.000036864 s, expected less than 0.000036860 s
etc.migration @matrices PP1DP2 to PP1DP2 nodes [4] layers 3 types [master : f32]
    resources<"test" link 1000000000 after 0 nics 1 of 1000000000 after 1000 pack 1000000000> stage routed
    attributes {budget_ppm = 3000000 : i64} {
  etc.tensor "decoder.layers.{layer}.weight" in layer [12, 256]
  etc.workload prev P0T0 [L0..2]
  etc.workload curr P0T0 [L0..2]
  etc.placement [2, 3]
  etc.transfers {
    etc.transfer [L0..2] [master] from [0, 1] to [2, 3]
  }
}
