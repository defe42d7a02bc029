// Without a budget, rounds of the least peak that is found are an error where no peak as high is wanted: one matrix of
// 12 288 bytes arrives in slabs of 4096. A budget that is named counts alone.

// RUN: etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-schedule-chunks{most-peak=1.334}))' | FileCheck %s
// RUN: not etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-schedule-chunks{most-peak=1.333}))' 2>&1 | FileCheck %s --check-prefix=HIGH

// CHECK: etc.schedule
// HIGH: [[@LINE+1]]:1: error: has a peak of at least 1.334x of the larger state, expected at most 1.333x
etc.migration @unnamed DP1 to DP2 nodes [2] layers 1 types [master : f32] stage routed {
  etc.tensor "decoder.layers.{layer}.weight" in layer [12, 256]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [0, 1]
  etc.transfers {
    etc.transfer [L0] [master] from [0] to [1]
  }
}

// -----

// CHECK: etc.schedule
// HIGH-NOT: error
etc.migration @named DP1 to DP2 nodes [2] layers 1 types [master : f32] stage routed
    attributes {budget_ppm = 2000000 : i64} {
  etc.tensor "decoder.layers.{layer}.weight" in layer [12, 256]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [0, 1]
  etc.transfers {
    etc.transfer [L0] [master] from [0] to [1]
  }
}
