// RUN: etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-build-demands))' | FileCheck %s

// Device 1 lacks slice b and what no slice cuts; device 0 keeps its own.
// CHECK-LABEL: etc.migration @lacking
// CHECK:       stage demands
// CHECK:       etc.demands {
// CHECK-NEXT:    etc.demand [L0.b, L0.*] [param, master] on [1] held_by [P0T0]
// CHECK-NEXT:  }
etc.migration @lacking TP1 to TP2 nodes [2] layers 1 types [param : bf16, master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [4, 2] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0.a, L0.*]
  etc.workload curr P0T1 [L0.b, L0.*]
  etc.placement [0, 1]
}

// -----

// Devices of equal roles are one demand.
// CHECK-LABEL: etc.migration @replicas
// CHECK:       etc.demands {
// CHECK-NEXT:    etc.demand [L1] [master] on [0, 1] held_by [P1T0]
// CHECK-NEXT:  }
etc.migration @replicas PP2DP2 to DP2 nodes [4] layers 2 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload prev P1T0 [L1]
  etc.workload curr P0T0 [L0..1]
  etc.placement [0, 1]
}

// -----

// What other roles hold is another demand: both tensor ranks have the norm.
// CHECK-LABEL: etc.migration @holders
// CHECK:       etc.demands {
// CHECK-NEXT:    etc.demand [L0.a] [master] on [2] held_by [P0T0]
// CHECK-NEXT:    etc.demand [L0.*] [master] on [2] held_by [P0T0, P0T1]
// CHECK-NEXT:    etc.demand [L0.b] [master] on [2] held_by [P0T1]
// CHECK-NEXT:  }
etc.migration @holders TP2 to PP1 nodes [3] layers 1 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [4, 2] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0.a, L0.*]
  etc.workload prev P0T1 [L0.b, L0.*]
  etc.workload curr P0T0 [L0]
  etc.placement [2]
}

// -----

// Rows that padding adds are lacked by nobody: positions 4 and 5 will be zeros.
// CHECK-LABEL: etc.migration @padding
// CHECK:       etc.demands {
// CHECK-NEXT:    etc.demand [embed/embedding.weight[2:3]] [master] on [0] held_by [P0T1]
// CHECK-NEXT:  }
etc.migration @padding TP2 to TP2 nodes [2] layers 1 types [master : f32] stage placement {
  etc.tensor "embedding.weight" in embed [6, 2] prev [4, 2] split 0
  etc.workload prev P0T0 [embed/embedding.weight[0:2]]
  etc.workload prev P0T1 [embed/embedding.weight[2:4]]
  etc.workload curr P0T0 [embed/embedding.weight[0:3]]
  etc.workload curr P0T1 [embed/embedding.weight[3:6]]
  etc.placement [0, 1]
}

// -----

// A tied copy that is new is made from its twin, which others hold.
// CHECK-LABEL: etc.migration @new_copy
// CHECK:       etc.demands {
// CHECK-NEXT:    etc.demand [embed.b] [master] on [0] held_by [P0T1]{{$}}
// CHECK-NEXT:    etc.demand [head.a] [master] on [1] held_by [P0T0]
// CHECK-NEXT:  }
etc.migration @new_copy TP2 to PP2 nodes [2] layers 2 types [master : f32] stage placement {
  etc.tensor "embedding.weight" in embed [4, 2] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.tensor "output.weight" in head [4, 2] split 0 tied_to "embedding.weight"
  etc.workload prev P0T0 [embed.a, L0..1]
  etc.workload prev P0T1 [embed.b, L0..1]
  etc.workload curr P0T0 [embed, L0]
  etc.workload curr P1T0 [L1, head]
  etc.placement [0, 1]
}

// -----

// A device that holds a twin of a tied tensor keeps it. Others get the tensor from its own holders (device 4), unless only
// a twin is on their node (device 3).
// CHECK-LABEL: etc.migration @twins
// CHECK:       etc.demands {
// CHECK-NEXT:    etc.demand [L1] [master] on [0] held_by [P1T0]
// CHECK-NEXT:    etc.demand [L0] [master] on [2] held_by [P0T0]
// CHECK-NEXT:    etc.demand [L0] [master] on [3] held_by [P0T0]
// CHECK-NEXT:    etc.demand [L1] [master] on [3] held_by [P1T0]
// CHECK-NEXT:    etc.demand [embed] [master] on [3] held_by [P1T0]
// CHECK-NEXT:    etc.demand [embed, L0] [master] on [4] held_by [P0T0]
// CHECK-NEXT:    etc.demand [L1] [master] on [4] held_by [P1T0]
// CHECK-NEXT:  }
etc.migration @twins PP2 on [0, 2] to DP4 nodes [2, 2, 1] layers 2 types [master : f32] stage placement {
  etc.tensor "embedding.weight" in embed [4, 2] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.tensor "output.weight" in head [4, 2] split 0 tied_to "embedding.weight"
  etc.workload prev P0T0 [embed, L0]
  etc.workload prev P1T0 [L1, head]
  etc.workload curr P0T0 [embed, L0..1]
  etc.placement [0, 2, 3, 4]
}

// -----

// Where all holders of a tied tensor are dead, a twin is the source.
// CHECK-LABEL: etc.migration @dead_holder
// CHECK:       etc.demand [embed] [master] on [4] held_by [P1T0]
etc.migration @dead_holder PP2DP2 on [0, 1, 2, 3] to DP2 nodes [1, 1, 1, 1, 1] failed [0, 1] layers 2 types [master : f32] stage placement {
  etc.tensor "embedding.weight" in embed [4, 2] split 0
  etc.tensor "output.weight" in head [4, 2] split 0 tied_to "embedding.weight"
  etc.workload prev P0T0 [embed]
  etc.workload prev P1T0 [head]
  etc.workload curr P0T0 [embed]
  etc.placement [3, 4]
}

// -----

// Nothing moves where nothing changes; the list is there all the same.
// CHECK-LABEL: etc.migration @nothing
// CHECK:       etc.demands {
// CHECK-NEXT:  }
etc.migration @nothing PP2 to PP2 nodes [2] layers 2 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload prev P1T0 [L1]
  etc.workload curr P0T0 [L0]
  etc.workload curr P1T0 [L1]
  etc.placement [0, 1]
}
