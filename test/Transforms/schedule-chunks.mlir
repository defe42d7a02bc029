// RUN: etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-schedule-chunks,etc-lower-to-instructions))' | FileCheck %s
// RUN: etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-schedule-chunks))' | FileCheck %s --check-prefix=CUTS

// What is kept whole is bound in round 0 and needs no memory: both peaks are the 2 KB of state.
// CUTS-LABEL:  etc.migration @bound
// CUTS:        etc.schedule {
// CUTS-NEXT:     etc.cut [L0..1] [master] rounds [0]{{$}}
// CUTS-NEXT:   }
// CHECK-LABEL: etc.migration @bound
// CHECK:       etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 0 peak 2048 safe 2048 (%self = [0]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L0..1] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
etc.migration @bound PP1 to PP1 nodes [1] layers 2 types [master : f32] stage routed {
  etc.tensor "decoder.layers.{layer}.weight" in layer [256]
  etc.workload prev P0T0 [L0..1]
  etc.workload curr P0T0 [L0..1]
  etc.placement [0]
  etc.transfers {
  }
}

// -----

// A matrix of 12 rows of 1 KB and a budget of 20 KB: it leaves 8 KB for the one slab of each device. A chunk fills at most
// half a slab, 4 rows, so there are 3 chunks, two a round. The receiver takes 12 KB when the first one comes, and 8 KB of
// staging; the sender frees the matrix in the round that reads the last rows.
// CUTS-LABEL:  etc.migration @chunks
// CUTS:        etc.schedule {
// CUTS-NEXT:     etc.cut [L0] [master] rounds [0, 0, 1]{{$}}
// CUTS-NEXT:   }
// CHECK-LABEL: etc.migration @chunks
// CHECK:       etc.program @"P0T0 <- none" P0T0 from none slabs 0, 8192 peak 20480 safe 20480 (%self = [1], %p1 = [0]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.recv [L0/weight[0:8]] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.recv [L0/weight[8:12]] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"none <- P0T0" none from P0T0 slabs 8192, 0 peak 20480 safe 20480 (%self = [0], %p1 = [1]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.send [L0/weight[0:8]] [master] to %p1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.send [L0/weight[8:12]] [master] to %p1
// CHECK-NEXT:      etc.release [L0] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
etc.migration @chunks PP1 to PP1 nodes [2] layers 1 types [master : f32] stage routed
    attributes {budget_bytes = 20480 : i64} {
  etc.tensor "decoder.layers.{layer}.weight" in layer [12, 256]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [1]
  etc.transfers {
    etc.transfer [L0] [master] from [0] to [1]
  }
}

// -----

// Half a matrix of 16 KB stays, half goes. No budget: 1.05 x 16 KB can't be kept, so slabs are as small as they get, 4 KB,
// and chunks 2 KB. The first goes alone, where nothing fits; then two fill a slab. The half that stays is copied with the
// first, the old matrix is read until the last. Both peaks: 16 old + 8 new + 4 staging KB.
// CUTS-LABEL:  etc.migration @halves
// CUTS:        etc.schedule {
// CUTS-NEXT:     etc.cut [L0] [master] rounds [0, 0, 1, 1]{{$}}
// CUTS-NEXT:   }
// CHECK-LABEL: etc.migration @halves
// CHECK:       etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 4096, 0 peak 28672 safe 28672 (%self = [0], %p1 = [1]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [L0.a] [master]
// CHECK-NEXT:      etc.send [L0/weight[8:12]] [master] to %p1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.send [L0/weight[12:16]] [master] to %p1
// CHECK-NEXT:      etc.release [L0] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T1 <- none" P0T1 from none slabs 0, 4096 peak 12288 safe 12288 (%self = [1], %p1 = [0]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.recv [L0/weight[8:12]] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.recv [L0/weight[12:16]] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
etc.migration @halves TP1 to TP2 nodes [2] layers 1 types [master : f32] stage routed {
  etc.tensor "decoder.layers.{layer}.weight" in layer [16, 256] split 0
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0.a]
  etc.workload curr P0T1 [L0.b]
  etc.placement [0, 1]
  etc.transfers {
    etc.transfer [L0.b] [master] from [0] to [1]
  }
}

// -----

// Two devices exchange matrices of 64 KB, within 3 x 64 = 192 KB. 64 old + 64 new leave 64 KB for two slabs of 32 KB, and
// chunks of 16 KB: 16 rows, two chunks a round. Wider stagings, tried first, exceed the budget.
// CUTS-LABEL:  etc.migration @exchange
// CUTS:        etc.schedule {
// CUTS-NEXT:     etc.cut [L0..1] [master] rounds [0, 0, 1, 1]{{$}}
// CUTS-NEXT:   }
// CHECK-LABEL: etc.migration @exchange
// CHECK:       etc.program @"P0T0 <- P1T0" P0T0 from P1T0 slabs 32768, 32768 peak 196608 safe 196608 (%self = [1], %p1 = [0]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.send [L1/weight[0:32]] [master] to %p1
// CHECK-NEXT:      etc.recv [L0/weight[0:32]] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.send [L1/weight[32:64]] [master] to %p1
// CHECK-NEXT:      etc.recv [L0/weight[32:64]] [master] from %p1
// CHECK-NEXT:      etc.release [L1] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P1T0 <- P0T0" P1T0 from P0T0 slabs 32768, 32768 peak 196608 safe 196608 (%self = [0], %p1 = [1]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.send [L0/weight[0:32]] [master] to %p1
// CHECK-NEXT:      etc.recv [L1/weight[0:32]] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.send [L0/weight[32:64]] [master] to %p1
// CHECK-NEXT:      etc.recv [L1/weight[32:64]] [master] from %p1
// CHECK-NEXT:      etc.release [L0] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
etc.migration @exchange PP2 to PP2 on [1, 0] nodes [2] layers 2 types [master : f32] stage routed
    attributes {budget_ppm = 3000000 : i64} {
  etc.tensor "decoder.layers.{layer}.weight" in layer [64, 256]
  etc.workload prev P0T0 [L0]
  etc.workload prev P1T0 [L1]
  etc.workload curr P0T0 [L0]
  etc.workload curr P1T0 [L1]
  etc.placement [1, 0]
  etc.transfers {
    etc.transfer [L0] [master] from [0] to [1]
    etc.transfer [L1] [master] from [1] to [0]
  }
}

// -----

// A tied copy that is made from its twin goes with it: the embedding is freed when both have been sent. 2 x 1 KB fit one
// round.
// CUTS-LABEL:  etc.migration @new_copy
// CUTS:        etc.schedule {
// CUTS-NEXT:     etc.cut [embed] [master] rounds [0]{{$}}
// CUTS-NEXT:   }
// CHECK-LABEL: etc.migration @new_copy
// CHECK:       etc.program @"P0T0 <- none" P0T0 from none slabs 0, 1024 peak 2048 safe 2048 (%self = [1], %p1 = [0]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.recv [embed] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P1T0 <- none" P1T0 from none slabs 0, 1024 peak 2048 safe 2048 (%self = [2], %p1 = [0]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.recv [head] [master] from %p1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"none <- P0T0" none from P0T0 slabs 2048, 0 peak 3072 safe 3072 (%self = [0], %p1 = [1], %p2 = [2]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.send [embed] [master] to %p1
// CHECK-NEXT:      etc.send [head] [master] to %p2
// CHECK-NEXT:      etc.release [embed] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
etc.migration @new_copy PP1 to PP2 on [1, 2] nodes [3] layers 2 types [master : f32] stage routed {
  etc.tensor "embedding.weight" in embed [1, 256] split 0
  etc.tensor "output.weight" in head [1, 256] split 0 tied_to "embedding.weight"
  etc.workload prev P0T0 [embed]
  etc.workload curr P0T0 [embed]
  etc.workload curr P1T0 [head]
  etc.placement [1, 2]
  etc.transfers {
    etc.transfer [embed] [master] from [0] to [1]
    etc.transfer [head] [master] from [0] to [2]
  }
}

// -----

// Old rows are copied, new ones zeroed, in the same round. 1.05 x 72 bytes can't be kept, so each type goes alone: with 8
// elements before and 12 after, 48 + 12 * 2 - 8 * 2 + 12 * 4 = 104 bytes at the peak, and 48 + 72 where nothing is freed.
// CUTS-LABEL:  etc.migration @padding
// CUTS:        etc.schedule {
// CUTS-NEXT:     etc.cut [embed/embedding.weight[0:6]] [param] rounds [0]{{$}}
// CUTS-NEXT:     etc.cut [embed/embedding.weight[0:6]] [master] rounds [1]{{$}}
// CUTS-NEXT:   }
// CHECK-LABEL: etc.migration @padding
// CHECK:       etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 0 peak 104 safe 120 (%self = [0]) {
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.refer [embed/embedding.weight[0:4]] [param]
// CHECK-NEXT:      etc.zero [embed/embedding.weight[4:6]] [param]
// CHECK-NEXT:      etc.release [embed/embedding.weight[0:4]] [param]
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.refer [embed/embedding.weight[0:4]] [master]
// CHECK-NEXT:      etc.zero [embed/embedding.weight[4:6]] [master]
// CHECK-NEXT:      etc.release [embed/embedding.weight[0:4]] [master]
// CHECK-NEXT:    }
// CHECK-NEXT:  }
etc.migration @padding PP1 to PP1 nodes [1] layers 1 types [param : bf16, master : f32] stage routed {
  etc.tensor "embedding.weight" in embed [6, 2] prev [4, 2] split 0
  etc.workload prev P0T0 [embed/embedding.weight[0:4]]
  etc.workload curr P0T0 [embed/embedding.weight[0:6]]
  etc.placement [0]
  etc.transfers {
  }
}

// -----

// A budget of 20 KB leaves device 1 two slabs of 4 KB: two chunks of 2 rows a round. It passes them on a round after they came, while the next ones come.
// Device 2 takes memory when its first ones come.
// CUTS-LABEL:  etc.migration @relayed
// CUTS:        etc.schedule {
// CUTS-NEXT:     etc.cut [L0] [master] rounds [0, 0, 1, 1, 2, 2], [1, 1, 2, 2, 3, 3]{{$}}
// CUTS-NEXT:   }
// CHECK-LABEL: etc.migration @relayed
// CHECK:       etc.program @"P0T0 <- none" P0T0 from none slabs 4096, 4096 peak 20480 safe 20480 (%self = [1], %p1 = [2], %p2 = [0])
// CHECK-NEXT:    etc.round 0 {
// CHECK-NEXT:      etc.recv [L0/weight[0:4]] [master] from %p2
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.send [L0/weight[0:4]] [master] to %p1 hop 1
// CHECK-NEXT:      etc.recv [L0/weight[4:8]] [master] from %p2
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 2 {
// CHECK-NEXT:      etc.send [L0/weight[4:8]] [master] to %p1 hop 1
// CHECK-NEXT:      etc.recv [L0/weight[8:12]] [master] from %p2
// CHECK-NEXT:    }
// CHECK-NEXT:    etc.round 3 {
// CHECK-NEXT:      etc.send [L0/weight[8:12]] [master] to %p1 hop 1
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:  etc.program @"P0T0 <- none #2" P0T0 from none slabs 0, 4096 peak 16384 safe 16384
// CHECK-NEXT:    etc.round 1 {
// CHECK-NEXT:      etc.recv [L0/weight[0:4]] [master] from %p1 hop 1
etc.migration @relayed DP1 to DP3 nodes [3] layers 1 types [master : f32] stage routed
    attributes {budget_bytes = 20480 : i64} {
  etc.tensor "decoder.layers.{layer}.weight" in layer [12, 256]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.placement [0, 1, 2]
  etc.transfers {
    etc.transfer [L0] [master] from [0] to [1]
    etc.transfer [L0] [master] from [1] to [2] hop 1
  }
}
