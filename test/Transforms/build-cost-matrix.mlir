// RUN: etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-build-cost-matrix))' | FileCheck %s

// The example of the paper: 16 layers, 4 stages to 2. c_00 = 8 - 4 = 4 layers, c_02 = 8 - 0. A layer has 4 elements in
// bf16 and f32, 4 * (2 + 4) = 24 bytes: c_00 = 4 * 24 = 96, c_02 = 192.
// CHECK-LABEL: etc.migration @paper
// CHECK:       etc.cost_matrix units #etc.matrix<[4, 4, 8, 8], [8, 8, 4, 4]>
// CHECK-NEXT:  etc.cost_matrix bytes #etc.matrix<[96, 96, 192, 192], [192, 192, 96, 96]>
// CHECK-NEXT:  }
etc.migration @paper PP4 to PP2 nodes [4] layers 16 types [param : bf16, master : f32] stage workloads {
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [2, 2] split 0
  etc.workload prev P0T0 [L0..3]
  etc.workload prev P1T0 [L4..7]
  etc.workload prev P2T0 [L8..11]
  etc.workload prev P3T0 [L12..15]
  etc.workload curr P0T0 [L0..7]
  etc.workload curr P1T0 [L8..15]
}

// -----

// Both dimensions at once, PP2TP2 to TP4 of 2 layers: 4 slices. A current role has 2 layers x 1 slice = 2 units, and
// shares one with those that hold its slice: c_00 = 2 - 1, c_01 = 2. What is not cut counts in bytes alone: linear.weight
// has 8 * 2 = 16 elements, 4 a slice, norm.weight 3, each of 4 bytes. curr_0 = 2 * (4 + 3) = 14, it shares 4 + 3 = 7
// with P0T0 and 3 with P0T1: c_00 = 7 * 4 = 28, c_01 = 11 * 4 = 44.
// CHECK-LABEL: etc.migration @slices
// CHECK:       etc.cost_matrix units
// CHECK-SAME:    <[1, 2, 1, 2], [1, 2, 1, 2], [2, 1, 2, 1], [2, 1, 2, 1]>
// CHECK-NEXT:  etc.cost_matrix bytes
// CHECK-SAME:    <[28, 44, 28, 44], [28, 44, 28, 44], [44, 28, 44, 28], [44, 28, 44, 28]>
etc.migration @slices PP2TP2 to TP4 nodes [4] layers 2 types [master : f32] stage workloads {
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [8, 2] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [3]
  etc.workload prev P0T0 [L0.a..b, L0.*]
  etc.workload prev P0T1 [L0.c..d, L0.*]
  etc.workload prev P1T0 [L1.a..b, L1.*]
  etc.workload prev P1T1 [L1.c..d, L1.*]
  etc.workload curr P0T0 [L0..1.a, L0..1.*]
  etc.workload curr P0T1 [L0..1.b, L0..1.*]
  etc.workload curr P0T2 [L0..1.c, L0..1.*]
  etc.workload curr P0T3 [L0..1.d, L0..1.*]
}

// -----

// A tied copy that is new overlaps with its twin: the only previous rank has all of both stages.
// CHECK-LABEL: etc.migration @new_copy
// CHECK:       etc.cost_matrix bytes #etc.matrix<[0], [0]>
etc.migration @new_copy PP1 to PP2 nodes [2] layers 2 types [master : f32] stage workloads {
  etc.tensor "embedding.weight" in embed [8, 4] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [4]
  etc.tensor "output.weight" in head [8, 4] split 0 tied_to "embedding.weight"
  etc.workload prev P0T0 [embed, L0..1]
  etc.workload curr P0T0 [embed, L0]
  etc.workload curr P1T0 [L1, head]
}

// -----

// So does one that is there already: c_10 = 4 elements of the norm, of 4 bytes, since P0T0 holds the head's twin.
// CHECK-LABEL: etc.migration @old_copy
// CHECK:       etc.cost_matrix bytes #etc.matrix<[0, 16], [16, 0]>
etc.migration @old_copy PP2 to PP2 nodes [2] layers 2 types [master : f32] stage workloads {
  etc.tensor "embedding.weight" in embed [8, 4] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [4]
  etc.tensor "output.weight" in head [8, 4] split 0 tied_to "embedding.weight"
  etc.workload prev P0T0 [embed, L0]
  etc.workload prev P1T0 [L1, head]
  etc.workload curr P0T0 [embed, L0]
  etc.workload curr P1T0 [L1, head]
}

// -----

// Padding that is new is lacked by everyone: curr_1 has positions 6 to 11, of which 6 and 7 come from prev_1; 4 new
// ones of 2 elements and 4 bytes are 32 bytes. prev_0 holds none of them: 6 * 8 = 48.
// CHECK-LABEL: etc.migration @padding
// CHECK:       etc.cost_matrix bytes #etc.matrix<[16, 32], [48, 32]>
etc.migration @padding TP2 to TP2 nodes [2] layers 1 types [master : f32] stage workloads {
  etc.tensor "embedding.weight" in embed [12, 2] prev [8, 2] split 0
  etc.workload prev P0T0 [embed/embedding.weight[0:4]]
  etc.workload prev P0T1 [embed/embedding.weight[4:8]]
  etc.workload curr P0T0 [embed/embedding.weight[0:6]]
  etc.workload curr P0T1 [embed/embedding.weight[6:12]]
}

// With the distributed optimizer on both sides, the matrix is of what replicas share: here the parameters, 32 elements of
// 2 bytes. What ranges share of masters, 8 rows of 4 elements of 4 bytes, stands beside it.
// CHECK-LABEL: etc.migration @ranges
etc.migration @ranges PP1DP2 zero1 to PP1DP2 zero1 nodes [2] layers 1 types [param : bf16, master : f32] stage workloads {
  etc.tensor "decoder.layers.{layer}.weight" in layer [8, 4] split 0 types [param]
  etc.tensor "decoder.layers.{layer}.weight" in layer [8, 4] split 0 types [master] flat
  etc.workload prev P0T0 [L0] [param]
  etc.workload prev P0T0D0 [L0/weight[0:5]] [master]
  etc.workload prev P0T0D1 [L0/weight[5:8]] [master]
  etc.workload curr P0T0 [L0] [param]
  etc.workload curr P0T0D0 [L0/weight[0:4]] [master]
  etc.workload curr P0T0D1 [L0/weight[4:8]] [master]
  // CHECK: etc.cost_matrix bytes #etc.matrix<[0]>
  // 4 rows of 16 bytes; then 1 row of the first and 3 of the second.
  // CHECK-NEXT: etc.overlap P0T0D0 with [P0T0D0] bytes [64]
  // CHECK-NEXT: etc.overlap P0T0D1 with [P0T0D0, P0T0D1] bytes [16, 48]
}

// -----

// Ids count by what they mean: the layers of the first stage are spelled tensor by tensor.
// CHECK-LABEL: etc.migration @spelled
// CHECK:       etc.cost_matrix units #etc.matrix<[1, 1], [1, 1]>
etc.migration @spelled PP2 to PP2 nodes [2] layers 4 types [master : f32] stage workloads {
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [2, 2] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0/linear.weight, L0/norm.weight, L2/linear.weight, L2/norm.weight]
  etc.workload prev P1T0 [L1, L3]
  etc.workload curr P0T0 [L0..1]
  etc.workload curr P1T0 [L2..3]
}
