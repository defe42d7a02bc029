// RUN: etc-opt %s --split-input-file \
// RUN:   --pass-pipeline='builtin.module(etc.migration(etc-build-workloads,etc-build-cost-matrix,etc-solve-assignment,etc-defragment,etc-build-demands))' \
// RUN:   | FileCheck %s --check-prefixes=CHECK,DEMANDS
// RUN: etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc-plan)' | FileCheck %s --check-prefixes=CHECK,PLAN

// A layer has 8 elements, the embedding gains 4 to its 8. Of the 6 bytes of each, the 4 of the master move.
// CHECK-LABEL: etc.migration @derived
// CHECK: etc.cost_matrix bytes #etc.matrix<[48, 80]>
// CHECK: etc.certificate device kept 64 u [64] v [0, 0]
etc.migration @derived PP2 to PP1 nodes [2] layers 2
    types [param : bf16 from master, master : f32] {
  etc.tensor "embedding.word_embeddings.weight" in embed [6, 2] prev [4, 2] split 0
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [4, 2] split 0
}

// Only the master is lacking.
// DEMANDS: etc.demands {
// DEMANDS-NEXT: etc.demand [L1] [master] on [0] held_by [P1T0]
// DEMANDS-NEXT: }

// The derive comes after the round that receives its source. At the sender, nothing holds the parameter back.
// PLAN-LABEL: etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 32 peak 232 safe 248
// PLAN: etc.recv [L1] [master] from %p1
// PLAN-NEXT: }
// PLAN-NEXT: etc.round {{[0-9]+}} {
// PLAN-NEXT: etc.derive [L1] [param]
// PLAN-LABEL: etc.program @"none <- P1T0" none from P1T0 slabs 32, 0 peak 80 safe 80
// PLAN-NEXT: etc.round 0 {
// PLAN-NEXT: etc.release [L1] [param]
// PLAN-NEXT: }
// PLAN-NEXT: etc.round {{[0-9]+}} {
// PLAN-NEXT: etc.send [L1] [master] to %p1
// PLAN-NEXT: etc.release [L1] [master]

// -----

// CHECK-LABEL: etc.migration @none
// CHECK: etc.cost_matrix bytes #etc.matrix<[72, 120]>
// CHECK: etc.certificate device kept 96 u [96] v [0, 0]
// CHECK-NOT: etc.derive
// LOWER: etc.recv [L1] [param, master] from %p1
// LOWER: etc.send [L1] [param, master] to %p1
etc.migration @none PP2 to PP1 nodes [2] layers 2
    types [param : bf16 from master, master : f32] derive none {
  etc.tensor "embedding.word_embeddings.weight" in embed [6, 2] prev [4, 2] split 0
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [4, 2] split 0
}

// -----

// Half of a tensor stays. It is copied, and the old shard released, before the other half can be derived.
// CHECK-LABEL: etc.migration @part
// LOWER: etc.refer [L0.a] [param, master]
// LOWER-NEXT: etc.derive [L0.b] [param]
// LOWER-NEXT: etc.recv [L0.b] [master] from %p1
// PLAN-LABEL: etc.program @"P0T0 <- P0T0"
// PLAN-NEXT: etc.round 0 {
// PLAN-NEXT: etc.refer [L0.a] [param]
// PLAN-NEXT: etc.release [L0.a] [param]
// PLAN: etc.derive [L0.b] [param]
etc.migration @part TP2 to TP1 nodes [2] layers 1 types [param : bf16 from master, master : f32] {
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [4, 2] split 0
}

// -----

// A source that is not there is not cast from.
// CHECK-LABEL: etc.migration @alone
// CHECK: etc.cost_matrix bytes #etc.matrix<[16, 16]>
// CHECK-NOT: etc.derive
// LOWER: etc.recv [L1] [param] from %p1
etc.migration @alone PP2 to PP1 nodes [2] layers 2 types [param : bf16 from master] {
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [4, 2] split 0
}

// -----

// A tied copy that is made from its twin is derived from its own master.
// CHECK-LABEL: etc.migration @tied
// LOWER: etc.derive [L1, head] [param]
// LOWER: etc.recv [head] [master] from %p1
// PLAN: etc.recv [head] [master] from %p1
// PLAN: etc.derive [head] [param]
etc.migration @tied PP1 to PP2 on [0, 1] nodes [2] layers 2 types [param : bf16 from master, master : f32] {
  etc.tensor "embedding.word_embeddings.weight" in embed [4, 2] split 0
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [4, 2] split 0
  etc.tensor "output_layer.weight" in head [4, 2] split 0 tied_to "embedding.word_embeddings.weight"
}
