// RUN: etc-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(etc.migration(etc-schedule-chunks))'

// 12 KB of state and the smallest slab, 4 KB: 16 / 12 = 1.3334, rounded up.
// expected-error @+1 {{memory budget: 1x is infeasible; the least found is 1.334x}}
etc.migration @ratio PP1 to PP1 nodes [2] layers 1 types [master : f32] stage routed
    attributes {budget_ppm = 1000000 : i64} {
  etc.tensor "decoder.layers.{layer}.weight" in layer [12, 256]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [1]
  etc.transfers {
    etc.transfer [L0] [master] from [0] to [1]
  }
}

// -----

// 12288 + 4096 bytes.
// expected-error @+1 {{memory budget: 16383 bytes is infeasible; the least found is 16384 bytes}}
etc.migration @bytes PP1 to PP1 nodes [2] layers 1 types [master : f32] stage routed
    attributes {budget_bytes = 16383 : i64} {
  etc.tensor "decoder.layers.{layer}.weight" in layer [12, 256]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [1]
  etc.transfers {
    etc.transfer [L0] [master] from [0] to [1]
  }
}

// -----

// The least that was named is met.
etc.migration @least PP1 to PP1 nodes [2] layers 1 types [master : f32] stage routed
    attributes {budget_bytes = 16384 : i64} {
  etc.tensor "decoder.layers.{layer}.weight" in layer [12, 256]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [1]
  etc.transfers {
    etc.transfer [L0] [master] from [0] to [1]
  }
}
