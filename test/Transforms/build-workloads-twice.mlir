// RUN: etc-opt %s --verify-diagnostics --pass-pipeline='builtin.module(etc.migration(etc-build-workloads))'

// expected-error @+1 {{has workloads already; plan the request stage}}
etc.migration @planned PP1 to PP1 nodes [1] layers 1 types [param : bf16] {
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [4, 2] split 0
  etc.workload prev P0T0 [L0]
}
