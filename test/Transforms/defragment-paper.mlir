// RUN: etc-opt %s --pass-pipeline='builtin.module(etc.migration(etc-defragment{policy=paper}))' --split-input-file --verify-diagnostics | FileCheck %s

// Occupancy: devices 0, 2, 4 and 6 keep a role. Idle 1, 3 take over from 6, 4; then idle 5 meets occupied 3.
// CHECK-LABEL: etc.migration @occupancy
etc.migration @occupancy PP8 to PP4 nodes [4, 4] layers 8 types [param : bf16] stage sketch {
  etc.pair P0T0 replicas [0] from none on [0]
  etc.pair P1T0 replicas [0] from none on [2]
  etc.pair P2T0 replicas [0] from none on [4]
  etc.pair P3T0 replicas [0] from none on [6]
  // CHECK: etc.placement [0, 2, 3, 1]
}

// -----

// Only what held state before and may take a role is filled: 1 is draining, 7 is none of the job's.
// CHECK-LABEL: etc.migration @draining
etc.migration @draining PP6 on [0, 1, 2, 3, 4, 5] to PP3 nodes [4, 4] draining [1] layers 6 types [param : bf16] stage sketch {
  etc.pair P0T0 replicas [0] from none on [0]
  etc.pair P1T0 replicas [0] from none on [4]
  etc.pair P2T0 replicas [0] from none on [2]
  // CHECK: etc.placement [0, 3, 2]
}

// -----

// Efficiency: both pairs are on both nodes. Every rank goes to the device of its number.
// CHECK-LABEL: etc.migration @efficiency
etc.migration @efficiency PP4 to PP2TP2 nodes [2, 2] layers 8 types [param : bf16] stage sketch {
  etc.pair P0T0 replicas [0] from none on [0]
  etc.pair P0T1 replicas [0] from none on [2]
  etc.pair P1T0 replicas [0] from none on [1]
  etc.pair P1T1 replicas [0] from none on [3]
  // CHECK: etc.placement [0, 1, 2, 3]
}

// -----

// The target skips what is dead.
// CHECK-LABEL: etc.migration @dead
etc.migration @dead PP4 to PP1TP2 nodes [2, 2] failed [0] layers 8 types [param : bf16] stage sketch {
  etc.pair P0T0 replicas [0] from none on [2]
  etc.pair P0T1 replicas [0] from none on [1]
  // CHECK: etc.placement [2, 1]
}

// -----

// Inside a node any order will do.
// CHECK-LABEL: etc.migration @inside
etc.migration @inside PP2TP2 to PP2TP2 nodes [2, 2] layers 8 types [param : bf16] stage sketch {
  etc.pair P0T0 replicas [0] from none on [3]
  etc.pair P0T1 replicas [0] from none on [2]
  etc.pair P1T0 replicas [0] from none on [1]
  etc.pair P1T1 replicas [0] from none on [0]
  // CHECK: etc.placement [3, 2, 1, 0]
}

// -----

// A group larger than a node crosses nodes in any case; this one is on two, as few as can be.
// CHECK-LABEL: etc.migration @large
etc.migration @large PP1TP4 to PP1TP4 nodes [2, 2, 2] layers 8 types [param : bf16] stage sketch {
  etc.pair P0T0 replicas [0] from none on [4]
  etc.pair P0T1 replicas [0] from none on [5]
  etc.pair P0T2 replicas [0] from none on [2]
  etc.pair P0T3 replicas [0] from none on [3]
  // CHECK: etc.placement [4, 5, 2, 3]
}

// -----

// What the request fixes stays.
// CHECK-LABEL: etc.migration @fixed
etc.migration @fixed PP4 to PP2 on [0, 3] nodes [2, 2] layers 8 types [param : bf16] stage sketch {
  etc.pair P0T0 replicas [0] from none on [0]
  etc.pair P1T0 replicas [0] from none on [3]
  // CHECK: etc.placement [0, 3]
}

// -----

// expected-error @+1 {{has no etc.pair of P0T0 replica 0; run etc-solve-assignment first}}
etc.migration @nowhere PP4 to PP2 nodes [2, 2] layers 8 types [param : bf16] stage sketch {
}
