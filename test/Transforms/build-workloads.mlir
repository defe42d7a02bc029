// RUN: etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-build-workloads))' | FileCheck %s

// The previous side cuts in 2, the current one in 3: ids name LCM(2, 3) = 6 slices a to f, and `.*` what is not cut. Each
// previous rank holds 3 of them, each current one 2.
// CHECK-LABEL: etc.migration @slices
// CHECK:       etc.workload prev P0T0 [L0.a..c, L0.*]
// CHECK-NEXT:  etc.workload prev P0T1 [L0.d..f, L0.*]
// CHECK-NEXT:  etc.workload curr P0T0 [L0.a..b, L0.*]
// CHECK-NEXT:  etc.workload curr P0T1 [L0.c..d, L0.*]
// CHECK-NEXT:  etc.workload curr P0T2 [L0.e..f, L0.*]
// CHECK-NEXT:  }
etc.migration @slices TP2 to TP3 nodes [3] layers 1 types [param : bf16] {
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [12, 4] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [4]
}

// -----

// One rank a stage holds whole layers; a block without a suffix is all of it. Data-parallel replicas are not told apart.
// CHECK-LABEL: etc.migration @stages
// CHECK:       etc.workload prev P0T0 [embed, L0..1]
// CHECK-NEXT:  etc.workload prev P1T0 [L2..3, final]
// CHECK-NEXT:  etc.workload curr P0T0 [embed, L0..3, final]
// CHECK-NEXT:  }
etc.migration @stages PP2 to DP2 nodes [2] layers 4 types [param : bf16] {
  etc.tensor "embedding.weight" in embed [8, 4] split 0
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [12, 4] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [4]
  etc.tensor "final.weight" in final [4]
}

// -----

// A tied copy exists where the pipeline has more than one stage.
// CHECK-LABEL: etc.migration @tied
// CHECK:       etc.workload prev P0T0 [embed, L0..1]
// CHECK-NEXT:  etc.workload curr P0T0 [embed, L0]
// CHECK-NEXT:  etc.workload curr P1T0 [L1, head]
// CHECK-NEXT:  }
etc.migration @tied PP1 to PP2 nodes [2] layers 2 types [param : bf16] {
  etc.tensor "embedding.weight" in embed [8, 4] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [4]
  etc.tensor "output.weight" in head [8, 4] split 0 tied_to "embedding.weight"
}

// -----

// A vocabulary that is padded to 8 before and to 12 after has no slices in common: ids give positions, 8 / 2 = 4 and
// 12 / 3 = 4 of them a rank.
// CHECK-LABEL: etc.migration @padded
// CHECK:       etc.workload prev P0T0 [embed/embedding.weight[0:4], L0.a..c]
// CHECK-NEXT:  etc.workload prev P0T1 [embed/embedding.weight[4:8], L0.d..f]
// CHECK-NEXT:  etc.workload curr P0T0 [embed/embedding.weight[0:4], L0.a..b]
// CHECK-NEXT:  etc.workload curr P0T1 [embed/embedding.weight[4:8], L0.c..d]
// CHECK-NEXT:  etc.workload curr P0T2 [embed/embedding.weight[8:12], L0.e..f]
// CHECK-NEXT:  }
etc.migration @padded TP2 to TP3 nodes [3] layers 1 types [param : bf16] {
  etc.tensor "embedding.weight" in embed [12, 4] prev [8, 4] split 0
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [12, 4] split 0
}

// -----

// A tied copy of the previous side alone is cut as that side cuts it: 8 positions need not divide over TP' = 3.
// CHECK-LABEL: etc.migration @vanishing_copy
// CHECK:       etc.workload prev P1T0 [L1, head/output.weight[0:8]]
// CHECK-NEXT:  etc.workload curr P0T0 [embed/embedding.weight[0:4], L0..1]
// CHECK:       etc.workload curr P0T2 [embed/embedding.weight[8:12], L0..1]
// CHECK-NEXT:  }
etc.migration @vanishing_copy PP2 to TP3 nodes [3] layers 2 types [param : bf16] {
  etc.tensor "embedding.weight" in embed [12, 4] prev [8, 4] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [4]
  etc.tensor "output.weight" in head [8, 4] split 0 tied_to "embedding.weight"
}
