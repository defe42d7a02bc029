// Where a schedule surely takes as long as a faster one should, it is an error: three matrices of 12 288 bytes go from
// each of two devices to another, over links of 1 GB/s, whatever the rounds are. A matrix that is sent on takes the time
// of two, since it is sent on in a later round.

// RUN: etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-schedule-chunks{faster-than=0.00003687}))' | FileCheck %s
// RUN: not etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-schedule-chunks{faster-than=0.00003686}))' 2>&1 | FileCheck %s --check-prefix=SLOW
// RUN: not etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-schedule-chunks{faster-than=0.00002457}))' 2>&1 | FileCheck %s --check-prefix=CHAIN

// CHECK: etc.schedule
// CHAIN: error: takes at least 0.000036864 s
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

// -----

// CHECK: etc.schedule
// SLOW-NOT: error
// CHAIN: [[@LINE+1]]:1: error: takes at least 0.000024576 s, expected less than 0.000024570 s
etc.migration @relayed DP1 to DP3 nodes [3] layers 1 types [master : f32]
    resources<"test" link 1000000000 after 0 nics 1 of 1000000000 after 1000 pack 1000000000> stage routed
    attributes {budget_ppm = 3000000 : i64} {
  etc.tensor "decoder.layers.{layer}.weight" in layer [12, 256]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [0, 1, 2]
  etc.transfers {
    etc.transfer [L0] [master] from [0] to [1]
    etc.transfer [L0] [master] from [1] to [2] hop 1
  }
}
