// RUN: etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-build-workloads,etc-build-cost-matrix,etc-solve-assignment,etc-defragment))' | FileCheck %s
// RUN: etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-build-workloads,etc-build-cost-matrix,etc-solve-assignment,etc-defragment{total-first=true}))' | FileCheck %s --check-prefix=TOTAL

// Devices and pairs are decided together. A layer is 4 elements of 4 bytes throughout, 16 bytes.

// Growth: ranks that are paired stay; the others take the lowest devices that are free, and their pairs say which.
// CHECK-LABEL: etc.migration @growth
// CHECK:       etc.pair P0T0 replicas [0] from P0T0 replicas [0]
// CHECK-NEXT:  etc.pair P1T0 replicas [0] from none on [2]
// CHECK-NEXT:  etc.pair P2T0 replicas [0] from P1T0 replicas [0]
// CHECK-NEXT:  etc.pair P3T0 replicas [0] from none on [3]
// CHECK-NEXT:  etc.certificate device kept 32
// CHECK-NEXT:  etc.certificate node kept 64
// CHECK-NEXT:  etc.placement [0, 2, 1, 3]
// CHECK-NEXT:  }
etc.migration @growth PP2 to PP4 nodes [4] layers 4 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
}

// -----

// Anywhere, each stage stays on the node that has both of its layers; on the fewest nodes one has to move.
// CHECK-LABEL: etc.migration @anywhere
// CHECK:       etc.placement [0, 2]
etc.migration @anywhere PP4 to PP2 nodes [2, 2] layers 4 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
}

// -----

// CHECK-LABEL: etc.migration @packed
// CHECK:       etc.pair P0T0 replicas [0] from P0T0 replicas [0]
// CHECK-NEXT:  etc.pair P1T0 replicas [0] from P1T0 replicas [0]
// CHECK-NEXT:  etc.certificate device kept 32
// CHECK:       etc.placement [0, 1]
etc.migration @packed PP4 to PP2 nodes [2, 2] place pack layers 4 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
}

// -----

// Stages of 2, 2 and 3 layers become one rank. On node 0 it finds 4 layers and keeps 2 of them on its device; on node 1 it
// finds 3, and keeps them all. Bytes between nodes come first, or all bytes.
// CHECK-LABEL: etc.migration @nodes_first
// CHECK:       etc.placement [0]
// TOTAL-LABEL: etc.migration @nodes_first
// TOTAL:       etc.placement [2]
etc.migration @nodes_first PP3 stages [2, 2, 3] to PP1 nodes [2, 1] layers 7 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
}

// -----

// A failed device and a draining one take no role; their neighbours do, since the node has what a draining one holds.
// CHECK-LABEL: etc.migration @gone
// CHECK:       etc.pair P0T0 replicas [0] from none on [4]
// CHECK-NEXT:  etc.pair P0T0 replicas [1, 2] from P0T0 replicas [3, 1]
// CHECK:       etc.placement [4, 3, 1]
etc.migration @gone DP4 to DP3 nodes [6] failed [0] draining [2] layers 1 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
}

// -----

// Devices that the request fixes are taken, and the pairs follow them.
// CHECK-LABEL: etc.migration @fixed
// CHECK:       etc.pair P0T0 replicas [0] from P3T0 replicas [0]
// CHECK-NEXT:  etc.pair P1T0 replicas [0] from P0T0 replicas [0]
// CHECK:       etc.placement [3, 0]
etc.migration @fixed PP4 to PP2 on [3, 0] nodes [4] layers 4 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
}
