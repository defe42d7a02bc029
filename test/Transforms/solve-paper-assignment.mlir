// RUN: etc-opt %s --etc-solve-paper-assignment --split-input-file --verify-diagnostics | FileCheck %s
// RUN: etc-opt %s --etc-solve-paper-assignment=costs=units --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=UNITS

// The paper's example: PP4 becomes PP2. 4 + 4 of 8 + 8; of equal columns the lowest.
// CHECK-LABEL: etc.migration @shrinks
// CHECK-SAME: policy paper
etc.migration @shrinks PP4 to PP2 nodes [4] layers 16 types [param : bf16] stage sketch {
  etc.cost_matrix units #etc.matrix<[4, 4, 8, 8], [8, 8, 4, 4]>
  etc.cost_matrix merged #etc.matrix<[4, 4, 8, 8], [8, 8, 4, 4]>
  // What the exact solver has said gives way, its bound stays.
  // CHECK-NOT: etc.pair P0T0 {{.*}} from P1T0
  etc.pair P0T0 replicas [0] from P1T0 replicas [0]
  // CHECK: etc.certificate device kept 128
  etc.certificate device kept 128 u [64, 64] v [0, 0, 0, 0] members [1, 1, 1, 1]
  // CHECK-NEXT: etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  // CHECK-NEXT: etc.pair P1T0 replicas [0] from P2T0 replicas [0]
  // CHECK-NEXT: }
}

// -----

// Every data-parallel group that exists on both sides does the same; group 2 is new.
// CHECK-LABEL: etc.migration @groups
etc.migration @groups PP2DP2 to PP2DP3 nodes [6] layers 4 types [param : bf16] stage sketch {
  etc.cost_matrix units #etc.matrix<[0, 2], [2, 0]>
  etc.cost_matrix merged #etc.matrix<[0, 2], [2, 0]>
  // CHECK: etc.pair P0T0 replicas [0, 1] from P0T0 replicas [0, 1]
  // CHECK-NEXT: etc.pair P0T0 replicas [2] from none
  // CHECK-NEXT: etc.pair P1T0 replicas [0, 1] from P1T0 replicas [0, 1]
  // CHECK-NEXT: etc.pair P1T0 replicas [2] from none
}

// -----

// Of the stages that grow in number, two come from padding. Device 1 holds P0T0 in group 1, and is dead.
// CHECK-LABEL: etc.migration @padding
etc.migration @padding PP2DP2 to PP4DP2 nodes [12] failed [1] layers 4 types [param : bf16] stage sketch {
  etc.cost_matrix units #etc.matrix<[0, 1], [0, 1], [1, 0], [1, 0]>
  etc.cost_matrix merged #etc.matrix<[0, 1], [0, 1], [1, 0], [1, 0]>
  // CHECK: etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  // CHECK-NEXT: etc.pair P0T0 replicas [1] from none
  // CHECK-NEXT: etc.pair P1T0 replicas [0, 1] from none
  // CHECK-NEXT: etc.pair P2T0 replicas [0, 1] from P1T0 replicas [0, 1]
  // CHECK-NEXT: etc.pair P3T0 replicas [0, 1] from none
}

// -----

// Where the merge and the units differ: P0T2 holds nothing of what P0T0 held, yet costs nothing.
// CHECK-LABEL: etc.migration @merge
// UNITS-LABEL: etc.migration @merge
etc.migration @merge PP1TP2 to PP1TP4 nodes [4] layers 1 types [param : bf16] stage sketch {
  etc.cost_matrix units #etc.matrix<[0, 1], [0, 1], [1, 0], [1, 0]>
  etc.cost_matrix merged #etc.matrix<[0, 0], [0, 0], [0, 0], [0, 0]>
  // CHECK: etc.pair P0T1 replicas [0] from P0T1
  // CHECK: etc.pair P0T2 replicas [0] from none
  // UNITS: etc.pair P0T1 replicas [0] from none
  // UNITS: etc.pair P0T2 replicas [0] from P0T1
}

// -----

// expected-error @+1 {{has no etc.cost_matrix in units; run etc-build-cost-matrix first}}
etc.migration @no_costs PP2 to PP2 nodes [2] layers 4 types [param : bf16] stage sketch {
}

// -----

// expected-error @+1 {{has no etc.cost_matrix in merged; run etc-build-paper-costs first}}
etc.migration @no_paper_costs PP1 to PP1 nodes [2] layers 4 types [param : bf16] stage sketch {
  etc.cost_matrix units #etc.matrix<[0]>
}
