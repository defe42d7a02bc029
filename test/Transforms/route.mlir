// RUN: etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-build-demands,etc-route))' | FileCheck %s

// Two replicas that lack the same ask one holder each.
// CHECK-LABEL: etc.migration @replicas
// CHECK-NOT:   etc.demand
// CHECK:       etc.transfers {
// CHECK-NEXT:    etc.transfer [L1] [master] from [2, 3] to [0, 1]
// CHECK-NEXT:  }
// CHECK-NEXT:  }
etc.migration @replicas PP2DP2 to DP2 nodes [4] layers 2 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload prev P1T0 [L1]
  etc.workload curr P0T0 [L0..1]
  etc.placement [0, 1]
}

// -----

// Both previous replicas hold what device 3 lacks; device 2 is on its node.
// CHECK-LABEL: etc.migration @same_node
// CHECK-NOT:   etc.demand
// CHECK:       etc.transfers {
// CHECK-NEXT:    etc.transfer [L0] [master] from [2] to [3]
// CHECK-NEXT:  }
// CHECK-NEXT:  }
etc.migration @same_node DP2 on [0, 2] to DP3 nodes [2, 2] layers 1 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [0, 2, 3]
}

// -----

// Four new replicas and two old ones, all on nodes of their own, by the paper's method: each old one sends twice.
// CHECK-LABEL: etc.migration @shared_load
// CHECK-NOT:   etc.demand
// CHECK:       etc.transfers {
// CHECK-NEXT:    etc.transfer [L0] [master] from [0, 1, 0, 1] to [2, 3, 4, 5]
// CHECK-NEXT:  }
// CHECK-NEXT:  }
etc.migration @shared_load DP2 to DP6 nodes [1, 1, 1, 1, 1, 1] layers 1 types [master : f32] policy paper stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [0, 1, 2, 3, 4, 5]
}

// -----

// By ours each sends once, and the new ones pass it on: two chains, side by side.
// CHECK-LABEL: etc.migration @relays
// CHECK-NOT:   etc.demand
// CHECK:       etc.transfers {
// CHECK-NEXT:    etc.transfer [L0] [master] from [0, 1] to [2, 3]{{$}}
// CHECK-NEXT:    etc.transfer [L0] [master] from [2, 3] to [4, 5] hop 1
// CHECK-NEXT:  }
// CHECK-NEXT:  }
etc.migration @relays DP2 to DP6 nodes [1, 1, 1, 1, 1, 1] layers 1 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [0, 1, 2, 3, 4, 5]
}

// -----

// A node is reached once: 0 sends to 1 and 1 to 2 on the other node, which sends to its neighbour 3.
// CHECK-LABEL: etc.migration @relays_in_nodes
// CHECK-NOT:   etc.demand
// CHECK:       etc.transfers {
// CHECK-NEXT:    etc.transfer [L0] [master] from [0] to [1]{{$}}
// CHECK-NEXT:    etc.transfer [L0] [master] from [1] to [2] hop 1
// CHECK-NEXT:    etc.transfer [L0] [master] from [2] to [3] hop 2
// CHECK-NEXT:  }
// CHECK-NEXT:  }
etc.migration @relays_in_nodes DP1 to DP4 nodes [2, 2] layers 1 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [0, 1, 2, 3]
}

// -----

// Device 0 has layer 1 to give away, device 1 layer 0: each is the last that the other's layer comes to.
// CHECK-LABEL: etc.migration @relays_last
// CHECK-NOT:   etc.demand
// CHECK:       etc.transfers {
// CHECK-NEXT:    etc.transfer [L1] [master] from [3] to [0] hop 2
// CHECK-NEXT:    etc.transfer [L0] [master] from [3] to [1] hop 2
// CHECK-NEXT:    etc.transfer [L0] [master] from [0] to [2]{{$}}
// CHECK-NEXT:    etc.transfer [L0] [master] from [2] to [3] hop 1
// CHECK-NEXT:    etc.transfer [L1] [master] from [1] to [2]{{$}}
// CHECK-NEXT:    etc.transfer [L1] [master] from [2] to [3] hop 1
// CHECK-NEXT:  }
// CHECK-NEXT:  }
etc.migration @relays_last PP2 to DP4 nodes [4] layers 2 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload prev P1T0 [L1]
  etc.workload curr P0T0 [L0..1]
  etc.placement [0, 1, 2, 3]
}

// -----

// A tied copy that is new is read from its twin.
// CHECK-LABEL: etc.migration @new_copy
// CHECK-NOT:   etc.demand
// CHECK:       etc.transfers {
// CHECK-NEXT:    etc.transfer [embed.b] [master] from [1] to [0]
// CHECK-NEXT:    etc.transfer [head.a] [master] from [0] to [1]
// CHECK-NEXT:  }
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

// A dead device is no source, and a draining one is: device 1 sends and takes no role.
// CHECK-LABEL: etc.migration @gone
// CHECK-NOT:   etc.demand
// CHECK:       etc.transfers {
// CHECK-NEXT:    etc.transfer [L0] [master] from [1] to [2]
// CHECK-NEXT:  }
// CHECK-NEXT:  }
etc.migration @gone DP2 to DP1 nodes [3] failed [0] draining [1] layers 1 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [2]
}

// -----

// Nothing is sent where nothing is lacking.
// CHECK-LABEL: etc.migration @nothing
// CHECK-NOT:   etc.demand
// CHECK:       etc.transfers {
// CHECK-NEXT:  }
// CHECK-NEXT:  }
etc.migration @nothing PP2 to PP2 nodes [2] layers 2 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload prev P1T0 [L1]
  etc.workload curr P0T0 [L0]
  etc.workload curr P1T0 [L1]
  etc.placement [0, 1]
}
