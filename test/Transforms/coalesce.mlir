// RUN: etc-opt %s --pass-pipeline='builtin.module(etc-coalesce)' --split-input-file --verify-diagnostics | FileCheck %s

// Device 1 would have received all to pass it on to device 2, which now has it from device 0.
// CHECK-NOT:   etc.migration @first
// CHECK-LABEL: etc.migration @straight PP1 to PP1 on [2] nodes [3]
// CHECK-SAME:    stage coalesced
// CHECK:         etc.placement [2]
// CHECK-NEXT:    etc.demands {
// CHECK-NEXT:      etc.demand [L0..1] [master] on [2] held_by [P0T0]
// CHECK-NEXT:    }
etc.migration @first PP1 to PP1 nodes [3] layers 2 types [master : f32] stage demands {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
  etc.placement [1]
  etc.demands {
    etc.demand [L0..1] [master] on [1] held_by [P0T0]
  }
}
etc.migration @second PP1 on [1] to PP1 nodes [3] layers 2 types [master : f32] stage demands {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
  etc.placement [2]
  etc.demands {
    etc.demand [L0..1] [master] on [2] held_by [P0T0]
  }
}
etc.migration @straight PP1 to PP1 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
}

// -----

// Device 1 has layer 1 at both ends, and would have dropped it in between.
// CHECK-LABEL: etc.migration @back PP2 to PP2 on [0, 1] nodes [3]
// CHECK:         etc.demands {
// CHECK-NEXT:    }
// CHECK-NOT:   etc.migration
etc.migration @first PP2 to PP1 nodes [3] layers 2 types [master : f32] stage demands {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
  etc.placement [0]
  etc.demands {
    etc.demand [L1] [master] on [0] held_by [P1T0]
  }
}
etc.migration @second PP1 to PP2 nodes [3] layers 2 types [master : f32] stage demands {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
  etc.placement [0, 1]
  etc.demands {
    etc.demand [L1] [master] on [1] held_by [P0T0]
  }
}
etc.migration @back PP2 to PP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
}

// -----

// expected-error @+1 {{etc-coalesce: expected a chain of two migrations or more and, last, the one that it becomes, got 2}}
module {
etc.migration @alone PP1 to PP1 nodes [3] layers 2 types [master : f32] stage demands {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
  etc.placement [1]
  etc.demands {
    etc.demand [L0..1] [master] on [1] held_by [P0T0]
  }
}
etc.migration @short PP1 to PP1 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
}
}

// -----

// expected-note @+1 {{that migration is here}}
etc.migration @first PP1 to PP1 nodes [3] layers 2 types [master : f32] stage demands {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
  etc.placement [1]
  etc.demands {
    etc.demand [L0..1] [master] on [1] held_by [P0T0]
  }
}
// expected-error @+1 {{expected to begin with PP1 on the devices where the migration before places it}}
etc.migration @elsewhere PP1 on [0] to PP1 nodes [3] layers 2 types [master : f32] stage demands {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
  etc.placement [2]
  etc.demands {
    etc.demand [L0..1] [master] on [2] held_by [P0T0]
  }
}
etc.migration @torn PP1 to PP1 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
}

// -----

etc.migration @first PP1 to PP1 nodes [3] layers 2 types [master : f32] stage demands {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
  etc.placement [1]
  etc.demands {
    etc.demand [L0..1] [master] on [1] held_by [P0T0]
  }
}
etc.migration @second PP1 on [1] to PP1 nodes [3] layers 2 types [master : f32] stage demands {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
  etc.placement [2]
  etc.demands {
    etc.demand [L0..1] [master] on [2] held_by [P0T0]
  }
}
// expected-error @+1 {{expected the ends of its chain, PP1 to PP1, on the same devices}}
etc.migration @other_end PP1 to PP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
}

// -----

etc.migration @first PP1 to PP1 nodes [3] layers 2 types [master : f32] stage demands {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
  etc.placement [1]
  etc.demands {
    etc.demand [L0..1] [master] on [1] held_by [P0T0]
  }
}
etc.migration @second PP1 on [1] to PP1 nodes [3] layers 2 types [master : f32] stage demands {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
  etc.placement [2]
  etc.demands {
    etc.demand [L0..1] [master] on [2] held_by [P0T0]
  }
}
// expected-error @+1 {{expected the migration that a chain becomes: at the stage 'request', without devices of the current ranks}}
etc.migration @decided PP1 to PP1 on [2] nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
}
