// RUN: etc-opt %s --verify-diagnostics --pass-pipeline='builtin.module(etc.migration(etc-build-workloads))'

etc.migration @planned PP1 to PP1 nodes [1] layers 1 types [param : bf16] {
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [4, 2] split 0
  // expected-error @+1 {{is there before etc-build-workloads, which adds it, has run}}
  etc.workload prev P0T0 [L0]
}
