// RUN: etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-defragment{policy=none}))' | FileCheck %s

// A rank that was paired stays where its previous rank is; the others take the lowest free devices.
// CHECK-LABEL: etc.migration @growth
// CHECK:       etc.placement [2, 0, 3, 1]
// CHECK-NEXT:  }
etc.migration @growth PP2 to PP4 nodes [4] layers 4 types [master : f32] stage sketch {
  etc.pair P0T0 replicas [0] from none
  etc.pair P1T0 replicas [0] from P0T0 replicas [0]
  etc.pair P2T0 replicas [0] from none
  etc.pair P3T0 replicas [0] from P1T0 replicas [0]
}

// -----

// Dead devices (0) and draining ones (2) stay free; so do those that nobody needs (5).
// CHECK-LABEL: etc.migration @gone
// CHECK:       etc.placement [1, 3, 4]
etc.migration @gone DP4 to DP3 nodes [6] failed [0] draining [2] layers 1 types [master : f32] stage sketch {
  etc.pair P0T0 replicas [0, 1] from P0T0 replicas [1, 3]
  etc.pair P0T0 replicas [2] from none
}

// -----

// Previous ranks may be anywhere: rank 0 is on device 3, rank 1 on device 1. Ranks follow Megatron's order, so rank 1 of
// TP1DP2 to TP2 is slice 1, paired with replica 0.
// CHECK-LABEL: etc.migration @elsewhere
// CHECK:       etc.placement [1, 3]
etc.migration @elsewhere DP2 on [3, 1] to TP2 nodes [4] layers 1 types [master : f32] stage sketch {
  etc.pair P0T0 replicas [0] from P0T0 replicas [1]
  etc.pair P0T1 replicas [0] from P0T0 replicas [0]
}

// -----

// What comes from nowhere may say where it goes: role P1T0 to device 3, though 1 and 2 are free.
// CHECK-LABEL: etc.migration @sent_there
// CHECK:       etc.placement [0, 3]
etc.migration @sent_there PP1 to PP2 nodes [4] layers 2 types [master : f32] stage sketch {
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.pair P1T0 replicas [0] from none on [3]
}
