// RUN: etc-opt %s | etc-opt | FileCheck %s
// RUN: etc-opt %s --mlir-print-op-generic | etc-opt | FileCheck %s
// RUN: etc-opt %s --emit-bytecode | etc-opt --trust-bytecode | FileCheck %s

// CHECK-LABEL: etc.migration @moves
etc.migration @moves PP2TP2DP2 to PP1TP2DP2 nodes [8] layers 4 types [param : bf16 from master, master : f32] {
  etc.tensor "embedding.weight" in embed [8, 4] split 0
  etc.tensor "decoder.layers.{layer}.mlp.weight" in layer [8, 4] split 0
  etc.tensor "output.weight" in head [8, 4] split 0 tied_to "embedding.weight"

  // CHECK: etc.demands {
  etc.demands {
    // CHECK-NEXT: etc.demand [L2..3.a] [param, master] on [0, 1] held_by [P1T0]{{$}}
    etc.demand [L2..3.a] [param, master] on [0, 1] held_by [P1T0]
    // CHECK-NEXT: etc.demand [head/output.weight[0:3]] [master] on [5] held_by [P0T0, P0T1]
    etc.demand [head/output.weight[0:3]] [master] on [5] held_by [P0T0, P0T1]
    // CHECK-NEXT: }
  }

  // Sources may repeat, and a relay says its hop.
  // CHECK: etc.transfers {
  etc.transfers {
    // CHECK-NEXT: etc.transfer [L2.a] [master] from [4, 4] to [0, 1]{{$}}
    etc.transfer [L2.a] [master] from [4, 4] to [0, 1]
    // CHECK-NEXT: etc.transfer [L2.a] [master] from [0] to [2] hop 1
    etc.transfer [L2.a] [master] from [0] to [2] hop 1
    // CHECK-NEXT: etc.transfer [head] [master] from [0] to [5]
    etc.transfer [head] [master] from [0] to [5]
    // CHECK-NEXT: }
  }

  // CHECK: etc.schedule {
  etc.schedule {
    // CHECK-NEXT: etc.cut [L0..3] [master] rounds [0, 0, 1], [1, 2, 2]
    etc.cut [L0..3] [master] rounds [0, 0, 1], [1, 2, 2]
    // CHECK-NEXT: etc.cut [L0..3] [param] rounds [0] derived 3
    etc.cut [L0..3] [param] rounds [0] derived 3
    // CHECK-NEXT: }
  }
}

// Nothing has to move: the lists say so.
// CHECK-LABEL: etc.migration @nothing
etc.migration @nothing PP1 to PP1 nodes [1] layers 1 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  // CHECK: etc.demands {
  // CHECK-NEXT: }
  etc.demands {
  }
  // CHECK-NEXT: etc.transfers {
  // CHECK-NEXT: }
  etc.transfers {
  }
}
