// RUN: etc-opt %s --pass-pipeline='builtin.module(etc-paper-plan)' | FileCheck %s
// RUN: etc-opt %s --pass-pipeline='builtin.module(etc-paper-plan{two-stage=true costs=units})' | FileCheck %s --check-prefix=TWO

// Every stage of the paper's method, down to rounds. Device 2 gives its role to device 1: 64 bytes more are moved than
// have to be.
// CHECK:       etc.migration @job PP4 to PP2 nodes [2, 2] {{.*}} policy paper
// CHECK:         etc.workload curr P1T0 [L2..3]
// CHECK:         etc.cost_matrix pp #etc.matrix<[1, 1, 2, 2], [2, 2, 1, 1]>
// CHECK-NEXT:    etc.cost_matrix tp #etc.matrix<[0]>
// CHECK-NEXT:    etc.cost_matrix merged #etc.matrix<[1, 1, 2, 2], [2, 2, 1, 1]>
// CHECK:         etc.certificate device kept 64
// CHECK-NEXT:    etc.certificate node kept 128
// CHECK-NEXT:    etc.pair P0T0 replicas [0] from P0T0 replicas [0]
// CHECK-NEXT:    etc.pair P1T0 replicas [0] from P2T0 replicas [0]
// CHECK-NEXT:    etc.placement [0, 1]
// CHECK-NEXT:    etc.program @"P0T0 <- P0T0" {{.*}} peak
// CHECK:         etc.program @"P1T0 <- P1T0" {{.*}} peak

// TWO:         etc.migration @job PP4 to PP2
// TWO:           etc.placement [0, 2]
// TWO:           etc.program @"P1T0 <- P2T0" {{.*}} peak
// TWO:         etc.migration @job.defragment PP2 on [0, 2] to PP2 on [0, 1]
// TWO:           etc.placement [0, 1]
// TWO:           etc.program @"P1T0 <- none" {{.*}} peak
// TWO:           etc.program @"none <- P1T0" {{.*}} peak
etc.migration @job PP4 to PP2 nodes [2, 2] layers 4 types [param : bf16] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
}
