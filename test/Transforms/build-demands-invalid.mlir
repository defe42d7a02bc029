// RUN: etc-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(etc.migration(etc-build-demands))'

// expected-error @+1 {{has no etc.placement; run etc-defragment first}}
etc.migration @no_placement PP1 to PP1 nodes [1] layers 1 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
}

// -----

// Device 1 alone held layer 1.
// expected-error @+1 {{state is lost: no living device holds 40 bytes of 'decoder.layers.1.linear.weight', 'decoder.layers.1.norm.weight', which were with P1T0; restore them from a checkpoint}}
etc.migration @lost PP2 to PP1 nodes [2] failed [1] layers 2 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [4, 2] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload prev P1T0 [L1]
  etc.workload curr P0T0 [L0..1]
  etc.placement [0]
}

// -----

// All replicas of slice a, but not of what both tensor ranks held.
// expected-error @+1 {{state is lost: no living device holds 16 bytes of 'decoder.layers.0.linear.weight', which were with P0T0; restore them from a checkpoint}}
etc.migration @lost_slice TP2DP2 to PP1 nodes [4] failed [0, 2] layers 1 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [4, 2] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0.a, L0.*]
  etc.workload prev P0T1 [L0.b, L0.*]
  etc.workload curr P0T0 [L0]
  etc.placement [1]
}

// -----

// expected-error @+1 {{'output.weight' does not exist in the previous state}}
etc.migration @new_tensor PP1 to PP1 nodes [1] layers 1 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.tensor "output.weight" in head [4, 2] split 0
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0, head]
  etc.placement [0]
}
