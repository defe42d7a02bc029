// RUN: etc-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(etc.migration(etc-build-workloads))'

etc.migration @prev_side TP3 to TP2 nodes [3] layers 1 types [param : bf16] {
  // expected-error @+1 {{prev: axis 0 of 'decoder.layers.{layer}.linear.weight' has 8 positions, which do not divide over TP = 3}}
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [8, 4] split 0
}

// -----

etc.migration @curr_side TP2 to TP3 nodes [3] layers 1 types [param : bf16] {
  // expected-error @+1 {{curr: axis 1 of 'decoder.layers.{layer}.linear.weight' has 4 positions, which do not divide over TP = 3}}
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [12, 4] split 1
}

// -----

// The padding of one side may divide where the other's does not.
etc.migration @padded TP2 to TP3 nodes [3] layers 1 types [param : bf16] {
  // expected-error @+1 {{curr: axis 0 of 'embedding.weight' has 10 positions, which do not divide over TP = 3}}
  etc.tensor "embedding.weight" in embed [10, 4] prev [8, 4] split 0
}
