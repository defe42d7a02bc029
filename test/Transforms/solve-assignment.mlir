// RUN: etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-solve-assignment))' | FileCheck %s

// A layer is 4 elements of 4 bytes throughout, 16 bytes.

// Shrink: of four previous ranks two keep their layer. The duals prove that no choice keeps more: 16 + 16. The node as a
// whole keeps all 4 layers, 64 bytes.
// CHECK-LABEL: etc.migration @shrink
// CHECK:       etc.pair P0T0 replicas [0] from P0T0 replicas [0]
// CHECK-NEXT:  etc.pair P1T0 replicas [0] from P2T0 replicas [0]
// CHECK-NEXT:  etc.certificate device kept 32 u [16, 16] v [0, 0, 0, 0] members [1, 1, 1, 1]
// CHECK-NEXT:  etc.certificate node kept 64 u [32, 32] v [0] members [4]
etc.migration @shrink PP4 to PP2 nodes [4] layers 4 types [master : f32] stage costs {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.workload prev P0T0 [L0]
  etc.workload prev P1T0 [L1]
  etc.workload prev P2T0 [L2]
  etc.workload prev P3T0 [L3]
  etc.workload curr P0T0 [L0..1]
  etc.workload curr P1T0 [L2..3]
  etc.cost_matrix bytes #etc.matrix<[16, 16, 32, 32], [32, 32, 16, 16]>
}

// -----

// Growth: the previous ranks keep a layer each, kept = 2 * 16; the other two roles come from none.
// CHECK-LABEL: etc.migration @growth
// CHECK:       etc.pair P0T0 replicas [0] from none{{$}}
// CHECK-NEXT:  etc.pair P1T0 replicas [0] from P0T0 replicas [0]
// CHECK-NEXT:  etc.pair P2T0 replicas [0] from none{{$}}
// CHECK-NEXT:  etc.pair P3T0 replicas [0] from P1T0 replicas [0]
// CHECK-NEXT:  etc.certificate device kept 32 u [0, 0, 0, 0] v [16, 16] members [1, 1]
// CHECK-NEXT:  etc.certificate node kept 64 u [16, 16, 16, 16] v [0] members [4]
etc.migration @growth PP2 to PP4 nodes [4] layers 4 types [master : f32] stage costs {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.workload prev P0T0 [L0..1]
  etc.workload prev P1T0 [L2..3]
  etc.workload curr P0T0 [L0]
  etc.workload curr P1T0 [L1]
  etc.workload curr P2T0 [L2]
  etc.workload curr P3T0 [L3]
  etc.cost_matrix bytes #etc.matrix<[0, 16], [0, 16], [16, 0], [16, 0]>
}

// -----

// Replicas are pooled: 3 replicas of the previous role, 2 of each current one. All three keep what they can, 3 * 16.
// CHECK-LABEL: etc.migration @pooled
// CHECK:       etc.pair P0T0 replicas [0] from P0T0 replicas [0]
// CHECK-NEXT:  etc.pair P0T0 replicas [1] from none{{$}}
// CHECK-NEXT:  etc.pair P1T0 replicas [0, 1] from P0T0 replicas [2, 1]
// CHECK-NEXT:  etc.certificate device kept 48 u [0, 0] v [16] members [3]
// CHECK-NEXT:  etc.certificate node kept 64 u [16, 16] v [0] members [4]
etc.migration @pooled DP3 to PP2DP2 nodes [4] layers 2 types [master : f32] stage costs {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.workload prev P0T0 [L0..1]
  etc.workload curr P0T0 [L0]
  etc.workload curr P1T0 [L1]
  etc.cost_matrix bytes #etc.matrix<[0], [0]>
}

// -----

// A failed device and a draining one take no role, so 2 of 4 replicas are members; those that are paired are named by
// their own numbers, 1 and 3. The third role comes from none.
// CHECK-LABEL: etc.migration @gone
// CHECK:       etc.pair P0T0 replicas [0, 1] from P0T0 replicas [1, 3]
// CHECK-NEXT:  etc.pair P0T0 replicas [2] from none{{$}}
// CHECK-NEXT:  etc.certificate device kept 32 u [0] v [16] members [2]
// CHECK-NEXT:  etc.certificate node kept 48 u [16] v [0] members [4]
etc.migration @gone DP4 to DP3 nodes [6] failed [0] draining [2] layers 1 types [master : f32] stage costs {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.workload prev P0T0 [L0]
  etc.workload curr P0T0 [L0]
  etc.cost_matrix bytes #etc.matrix<[0]>
}

// -----

// The previous ranks may be anywhere: rank 0 is on device 2, which is draining, so its role has no member. The best that
// is left keeps 16; a dual of 16 for what nobody can supply costs nothing.
// CHECK-LABEL: etc.migration @elsewhere
// CHECK:       etc.pair P0T0 replicas [0] from none{{$}}
// CHECK-NEXT:  etc.pair P1T0 replicas [0] from P1T0 replicas [0]
// CHECK-NEXT:  etc.certificate device kept 16 u [0, 16] v [16, 0] members [0, 1]
// CHECK-NEXT:  etc.certificate node kept 32 u [16, 16] v [0] members [2]
etc.migration @elsewhere PP2 on [2, 0] to PP2 nodes [3] draining [2] layers 2 types [master : f32] stage costs {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.workload prev P0T0 [L0]
  etc.workload prev P1T0 [L1]
  etc.workload curr P0T0 [L0]
  etc.workload curr P1T0 [L1]
  etc.cost_matrix bytes #etc.matrix<[0, 16], [16, 0]>
}
