// RUN: etc-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(etc.migration(etc-solve-assignment))'

// expected-error @+1 {{has no etc.cost_matrix in bytes; run etc-build-cost-matrix first}}
etc.migration @units_alone PP1 to PP1 nodes [1] layers 1 types [master : f32] stage costs {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.cost_matrix units #etc.matrix<[0]>
}

// -----

// A role of 16 bytes can't lack 17.
// expected-error @+1 {{assignment: edges[0]}}
etc.migration @more_than_all PP1 to PP1 nodes [1] layers 1 types [master : f32] stage costs {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.cost_matrix bytes #etc.matrix<[17]>
}
