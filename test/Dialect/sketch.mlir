// RUN: etc-opt %s | etc-opt | FileCheck %s
// RUN: etc-opt %s --mlir-print-op-generic | etc-opt | FileCheck %s
// RUN: etc-opt %s --emit-bytecode | etc-opt --trust-bytecode | FileCheck %s

// CHECK-LABEL: etc.migration @sketch
etc.migration @sketch PP2TP1DP2 to PP1TP2DP3 nodes [6] layers 4 types [param : bf16] {
  // CHECK-NEXT: etc.cost_matrix units #etc.matrix<[2, 2], [2, 2]>
  etc.cost_matrix units #etc.matrix<[2, 2], [2, 2]>
  // CHECK-NEXT: etc.cost_matrix bytes #etc.matrix<[4096, 8192], [8192, 4096]>
  etc.cost_matrix bytes #etc.matrix<[4096, 8192], [8192, 4096]>
  // CHECK-NEXT: etc.cost_matrix pp #etc.matrix<[2, 2]>
  etc.cost_matrix pp #etc.matrix<[2, 2]>
  // CHECK-NEXT: etc.cost_matrix tp #etc.matrix<[0], [0]>
  etc.cost_matrix tp #etc.matrix<[0], [0]>
  // CHECK-NEXT: etc.cost_matrix merged #etc.matrix<[2, 2], [2, 2]>
  etc.cost_matrix merged #etc.matrix<[2, 2], [2, 2]>
  // CHECK-NEXT: etc.pair P0T0 replicas [0, 1] from P1T0 replicas [1, 0]
  etc.pair P0T0 replicas [0, 1] from P1T0 replicas [1, 0]
  // CHECK-NEXT: etc.pair P0T0 replicas [2] from none
  etc.pair P0T0 replicas [2] from none
  // CHECK-NEXT: etc.pair P0T1 replicas [1, 2] from none on [4, 5]
  etc.pair P0T1 replicas [1, 2] from none on [4, 5]
  // CHECK-NEXT: etc.certificate device kept 128 u [64, 64] v [0, 0] members [2, 2]
  etc.certificate device kept 128 u [64, 64] v [0, 0] members [2, 2]
  // CHECK-NEXT: etc.certificate node kept 64 u [32, 32] v [0] members [6]
  etc.certificate node kept 64 u [32, 32] v [0] members [6]
  // CHECK-NEXT: etc.placement [2, 0, 3, 1, 4, 5]
  etc.placement [2, 0, 3, 1, 4, 5]
}
