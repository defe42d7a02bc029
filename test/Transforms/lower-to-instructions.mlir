// RUN: etc-opt %s --split-input-file \
// RUN:   --pass-pipeline='builtin.module(etc.migration(etc-build-demands,etc-route,etc-schedule-chunks,etc-lower-to-instructions))' | FileCheck %s

// Device 0 keeps slice a, sends slice b, and both keeps and sends what no slice cuts.
// CHECK-LABEL: etc.migration @kept_and_fed
// CHECK:       etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 16, 0 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [0], %p1 = [1]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L0.*] [param, master]
// CHECK-NEXT:      etc.send [L0.*] [param] to %p1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.send [L0.*] [master] to %p1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 2 {
// CHECK-NEXT:      etc.refer [L0.a] [param]
// CHECK-NEXT:      etc.send [L0.b] [param] to %p1
// CHECK-NEXT:      etc.release [L0.a..b] [param]
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 3 {
// CHECK-NEXT:      etc.refer [L0.a] [master]
// CHECK-NEXT:      etc.send [L0.b] [master] to %p1
// CHECK-NEXT:      etc.release [L0.a..b] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T1 <- none" P0T1 from none slabs 0, 16 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [1], %p1 = [0]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.recv [L0.*] [param] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.recv [L0.*] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 2 {
// CHECK-NEXT:      etc.recv [L0.b] [param] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 3 {
// CHECK-NEXT:      etc.recv [L0.b] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
etc.migration @kept_and_fed TP1 to TP2 nodes [2] layers 1 types [param : bf16, master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [4, 2] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0.a, L0.*]
  etc.workload curr P0T1 [L0.b, L0.*]
  etc.placement [0, 1]
}

// -----

// The same piece stays and goes: a refer and a send of it.
// CHECK-LABEL: etc.migration @copied
// CHECK:       etc.program @"P0T0 <- none" P0T0 from none slabs 0, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [1], %p1 = [0]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.recv [L0] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 8, 0 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [0], %p1 = [1]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L0] [master]
// CHECK-NEXT:      etc.send [L0] [master] to %p1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
etc.migration @copied DP1 to DP2 nodes [2] layers 1 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [0, 1]
}

// -----

// Two replicas of each role are two programs: entry i of every list is replica i, so device 1 receives from device 3.
// CHECK-LABEL: etc.migration @replicas
// CHECK:       etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [0, 1], %p1 = [2, 3]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L0] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.recv [L1] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"none <- P1T0" none from P1T0 slabs 8, 0 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [2, 3], %p1 = [0, 1]) {
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.send [L1] [master] to %p1
// CHECK-NEXT:      etc.release [L1] [master]
// CHECK-NEXT:    }
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
// CHECK:       etc.program @"P0T0 <- none" P0T0 from none slabs 0, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [3], %p1 = [2]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.recv [L0] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 0 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [0]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L0] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T0 <- P0T0 #2" P0T0 from P0T0 slabs 8, 0 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [2], %p1 = [3]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L0] [master]
// CHECK-NEXT:      etc.send [L0] [master] to %p1
// CHECK-NEXT:    }
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
// CHECK:       etc.program @"P0T0 <- none" P0T0 from none slabs 0, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [2, 3, 4, 5], %p1 = [0, 1, 0, 1]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.recv [L0] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 16, 0 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [0, 1], %p1 = [2, 3], %p2 = [4, 5]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L0] [master]
// CHECK-NEXT:      etc.send [L0] [master] to %p1
// CHECK-NEXT:      etc.send [L0] [master] to %p2
// CHECK-NEXT:    }
// CHECK-NEXT:  }
etc.migration @shared_load DP2 to DP6 nodes [1, 1, 1, 1, 1, 1] layers 1 types [master : f32] policy paper stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [0, 1, 2, 3, 4, 5]
}

// -----

// By ours each sends once, and the new ones pass it on: two chains, side by side, are one class a link.
// CHECK-LABEL: etc.migration @relays
// CHECK:       etc.program @"P0T0 <- none" P0T0 from none slabs 8, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [2, 3], %p1 = [4, 5], %p2 = [0, 1]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.recv [L0] [master] from %p2{{$}}
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.send [L0] [master] to %p1 hop 1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T0 <- none #2" P0T0 from none slabs 0, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [4, 5], %p1 = [2, 3]) {
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.recv [L0] [master] from %p1 hop 1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 8, 0 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [0, 1], %p1 = [2, 3]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L0] [master]
// CHECK-NEXT:      etc.send [L0] [master] to %p1{{$}}
// CHECK-NEXT:    }
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
// CHECK:       etc.program @"P0T0 <- none" P0T0 from none slabs 8, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [1], %p1 = [2], %p2 = [0]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.recv [L0] [master] from %p2{{$}}
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.send [L0] [master] to %p1 hop 1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T0 <- none #2" P0T0 from none slabs 8, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [2], %p1 = [3], %p2 = [1]) {
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.recv [L0] [master] from %p2 hop 1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 2 {
// CHECK-NEXT:      etc.send [L0] [master] to %p1 hop 2
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T0 <- none #3" P0T0 from none slabs 0, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [3], %p1 = [2]) {
// CHECK-NEXT:    etc.round 2 {
// CHECK-NEXT:      etc.recv [L0] [master] from %p1 hop 2
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 8, 0 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [0], %p1 = [1]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L0] [master]
// CHECK-NEXT:      etc.send [L0] [master] to %p1{{$}}
// CHECK-NEXT:    }
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
// CHECK:       etc.program @"P0T0 <- none" P0T0 from none slabs 8, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [3], %p1 = [0], %p2 = [1], %p3 = [2]) {
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.recv [L0] [master] from %p3 hop 1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 2 {
// CHECK-NEXT:      etc.send [L0] [master] to %p2 hop 2
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 4 {
// CHECK-NEXT:      etc.recv [L1] [master] from %p3 hop 1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 5 {
// CHECK-NEXT:      etc.send [L1] [master] to %p1 hop 2
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T0 <- none #2" P0T0 from none slabs 8, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [2], %p1 = [3], %p2 = [0], %p3 = [1]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.recv [L0] [master] from %p2{{$}}
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.send [L0] [master] to %p1 hop 1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 3 {
// CHECK-NEXT:      etc.recv [L1] [master] from %p3{{$}}
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 4 {
// CHECK-NEXT:      etc.send [L1] [master] to %p1 hop 1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 8, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [0], %p1 = [2], %p2 = [3]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L0] [master]
// CHECK-NEXT:      etc.send [L0] [master] to %p1{{$}}
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 5 {
// CHECK-NEXT:      etc.recv [L1] [master] from %p2 hop 2
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T0 <- P1T0" P0T0 from P1T0 slabs 8, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [1], %p1 = [2], %p2 = [3]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L1] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 2 {
// CHECK-NEXT:      etc.recv [L0] [master] from %p2 hop 2
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 3 {
// CHECK-NEXT:      etc.send [L1] [master] to %p1{{$}}
// CHECK-NEXT:    }
// CHECK-NEXT:  }
etc.migration @relays_last PP2 to DP4 nodes [4] layers 2 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload prev P1T0 [L1]
  etc.workload curr P0T0 [L0..1]
  etc.placement [0, 1, 2, 3]
}

// -----

// Rows that padding adds have no source: positions 4 and 5 are zeros.
// CHECK-LABEL: etc.migration @padding
// CHECK:       etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [0], %p1 = [1]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [embed/embedding.weight[0:2]] [master]
// CHECK-NEXT:      etc.recv [embed/embedding.weight[2:3]] [master] from %p1
// CHECK-NEXT:      etc.release [embed/embedding.weight[0:2]] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T1 <- P0T1" P0T1 from P0T1 slabs 8, 0 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [1], %p1 = [0]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [embed/embedding.weight[3:4]] [master]
// CHECK-NEXT:      etc.zero [embed/embedding.weight[4:6]] [master]
// CHECK-NEXT:      etc.send [embed/embedding.weight[2:3]] [master] to %p1
// CHECK-NEXT:      etc.release [embed/embedding.weight[2:4]] [master]
// CHECK-NEXT:    }
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

// A tied copy that is new is made from its twin: locally where the device holds it, else from another.
// CHECK-LABEL: etc.migration @new_copy
// CHECK:       etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 16, 16 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [0], %p1 = [1]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L0] [master]
// CHECK-NEXT:      etc.release [L1] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.refer [embed.a] [master]
// CHECK-NEXT:      etc.send [head.a] [master] to %p1
// CHECK-NEXT:      etc.recv [embed.b] [master] from %p1
// CHECK-NEXT:      etc.release [embed.a] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P1T0 <- P0T1" P1T0 from P0T1 slabs 16, 16 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [1], %p1 = [0]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L1] [master]
// CHECK-NEXT:      etc.release [L0] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.refer [head.b] [master]
// CHECK-NEXT:      etc.send [embed.b] [master] to %p1
// CHECK-NEXT:      etc.recv [head.a] [master] from %p1
// CHECK-NEXT:      etc.release [embed.b] [master]
// CHECK-NEXT:    }
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
// CHECK:       etc.program @"P0T0 <- none" P0T0 from none slabs 0, 8 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [2], %p1 = [1]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.recv [L0] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"none <- P0T0" none from P0T0 slabs 8, 0 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [1], %p1 = [2]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.send [L0] [master] to %p1
// CHECK-NEXT:      etc.release [L0] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
etc.migration @gone DP2 to DP1 nodes [3] failed [0] draining [1] layers 1 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [2]
}

// -----

// Nothing moves where nothing changes.
// CHECK-LABEL: etc.migration @nothing
// CHECK:       etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 0 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [0]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L0] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P1T0 <- P1T0" P1T0 from P1T0 slabs 0, 0 peak {{[0-9]+}} safe {{[0-9]+}} (%self = [1]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L1] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
etc.migration @nothing PP2 to PP2 nodes [2] layers 2 types [master : f32] stage placement {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.workload prev P0T0 [L0]
  etc.workload prev P1T0 [L1]
  etc.workload curr P0T0 [L0]
  etc.workload curr P1T0 [L1]
  etc.placement [0, 1]
}
