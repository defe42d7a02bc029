// RUN: etc-opt %s --split-input-file --verify-diagnostics

etc.migration @stage PP2TP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{role P2T0 is not in the prev grid PP2TP2}}
  etc.workload prev P2T0 [L0]
}

// -----

etc.migration @slice PP2TP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{role P0T1 is not in the curr grid PP4}}
  etc.workload curr P0T1 [L0]
}

// -----

etc.migration @role PP2TP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected a role like P0T1, got 'P0'}}
  etc.workload curr P0 [L0]
}

// -----

etc.migration @no_role PP2TP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected a role like P0T1}}
  etc.workload curr none [L0]
}

// -----

etc.migration @layer PP2TP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{layer 4 is not in [0, 4)}}
  etc.workload curr P0T0 [L2..4]
}

// -----

etc.migration @slices PP1TP2 to PP1TP3 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{slice g is not one of the 6 of LCM(TP, TP')}}
  etc.workload curr P0T0 [L0.a..g]
}

// -----

etc.migration @tensor PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [8]
  // expected-error @+1 {{no tensor 'weight' in the embed block}}
  etc.workload curr P0T0 [embed/weight]
}

// -----

// Positions are those of the larger side.
etc.migration @positions PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  etc.tensor "weight" in embed [8, 8] prev [16, 8] split 0
  etc.workload curr P0T0 [embed/weight[8:16]]
  // expected-error @+1 {{positions [8:17] exceed the 16 of 'weight'}}
  etc.workload curr P0T0 [embed/weight[8:17]]
}

// -----

etc.migration @pool_of_inventory DP2 inventory to PP1 nodes [2] layers 2 types [param : bf16] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  // expected-error @+1 {{role P0T0 is not in the prev grid DP2 inventory}}
  etc.workload prev P0T0 [L0..1]
}

// -----

etc.migration @no_types PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  etc.tensor "w.{layer}" in layer [16, 8]
  // expected-error @+1 {{'etc.workload' op expected at least one type}}
  "etc.workload"() <{side = 0 : i32, role = #etc.role<P0T0>, wid = [#etc.workload<L0..3>], wt = []}> : () -> ()
}
