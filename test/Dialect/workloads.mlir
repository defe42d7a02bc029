// RUN: etc-opt %s | etc-opt | FileCheck %s
// RUN: etc-opt %s --mlir-print-op-generic | etc-opt | FileCheck %s
// RUN: etc-opt %s --emit-bytecode | etc-opt --trust-bytecode | FileCheck %s

// TP2 and TP3 cut a tensor into LCM(2, 3) = 6 slices, a to f.
// CHECK-LABEL: etc.migration @ids
etc.migration @ids PP2TP2 to PP2TP3 nodes [6] layers 12 types [param : bf16] {
  etc.tensor "embedding.word_embeddings.weight" in embed [768, 96] split 0
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [384, 96] split 0
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc2.bias" in layer [96]
  etc.tensor "decoder.layers.{layer}.odd name" in layer [96]
  etc.tensor "decoder.final_layernorm.weight" in final [96]
  etc.tensor "output_layer.weight" in head [768, 96] split 0

  // Whole blocks, and ranges of layers.
  // CHECK: etc.workload prev P0T0 [embed, L0, L1..5, final, head]
  etc.workload prev P0T0 [embed, L0, L1..5, final, head]
  // A range of one layer is that layer.
  // CHECK-NEXT: etc.workload prev P0T0 [L3]
  etc.workload prev P0T0 [L3..3]
  // Slices, and what is not sliced.
  // CHECK-NEXT: etc.workload prev P0T0 [embed.a..c, L0..5.a..c, L0..5.*, head.f, final.*]
  etc.workload prev P0T0 [embed.a..c, L0..5.a..c, L0..5.*, head.f, final.*]
  // CHECK-NEXT: etc.workload prev P0T0 [L3.b]
  etc.workload prev P0T0 [L3.b..b]
  // One tensor, by the name that follows the layer's prefix.
  // CHECK-NEXT: etc.workload curr P1T2 [L3/mlp.linear_fc1.weight, L3..4.b/mlp.linear_fc1.weight, L3/"odd name"]
  etc.workload curr P1T2 [L3/mlp.linear_fc1.weight, L3..4.b/mlp.linear_fc1.weight, L3/"odd name"]
  // Positions along the axis that is cut.
  // CHECK-NEXT: etc.workload curr P1T2 [L3/mlp.linear_fc1.weight[64:128], embed/embedding.word_embeddings.weight[0:1]]
  etc.workload curr P1T2 [L3/mlp.linear_fc1.weight[64:128], embed/embedding.word_embeddings.weight[0:1]]
  // A role may hold nothing.
  // CHECK-NEXT: etc.workload curr P1T2 []
  etc.workload curr P1T2 []
}

// Behind z, slices go on with two letters.
// CHECK-LABEL: etc.migration @many_slices
etc.migration @many_slices PP1TP32 to PP1TP32 nodes [32] layers 1 types [param : bf16] {
  // CHECK: etc.workload prev P0T31 [L0.z, L0.aa, L0.ab..af]
  etc.workload prev P0T31 [L0.z, L0.aa, L0.ab..af]
}

// With the distributed optimizer a role without replica is all of its replicas, and ranges are parts of rows.
// CHECK-LABEL: etc.migration @ranges PP1DP2 zero1 to PP1DP2 zero1
etc.migration @ranges PP1DP2 zero1 to PP1DP2 zero1 nodes [2] layers 1 types [param : bf16, master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [8, 4] split 0 types [param]
  etc.tensor "decoder.layers.{layer}.weight" in layer [8, 4] split 0 types [master] flat
  // CHECK: etc.workload prev P0T0 [L0] [param]
  etc.workload prev P0T0 [L0] [param]
  // CHECK-NEXT: etc.workload prev P0T0D1 [L0/weight[0:1, 3:4, 2:4], L0/weight[4:8]] [master]
  etc.workload prev P0T0D1 [L0/weight[0:1, 3:4, 2:4], L0/weight[4:8]] [master]
  // CHECK-NEXT: etc.overlap P0T0D0 with [P0T0D0, P0T0D1] bytes [48, 8]
  etc.overlap P0T0D0 with [P0T0D0, P0T0D1] bytes [48, 8]
}

// What a device of an inventory holds need not be what any configuration asks for.
// CHECK-LABEL: etc.migration @left DP2 inventory on [0, 2] to PP1 nodes [4]
etc.migration @left DP2 inventory on [0, 2] to PP1 nodes [4] failed [1] layers 2 types [param : bf16] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [8, 4] split 0 types [param]
  // CHECK: etc.workload prev P0T0D1 [L0, L1/weight[0:3]] [param]
  etc.workload prev P0T0D1 [L0, L1/weight[0:3]] [param]
}
