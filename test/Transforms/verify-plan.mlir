// RUN: etc-opt %s --split-input-file --pass-pipeline='builtin.module(etc.migration(etc-verify-plan))' | FileCheck %s

// What is right passes unchanged. verify-plan-invalid.mlir breaks this plan in every way.
// CHECK-LABEL: etc.migration @two_stages_to_one
// CHECK:       etc.recv [L1] [master] from %p1
// CHECK:       etc.release [L1] [master]
etc.migration @two_stages_to_one PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
      etc.recv [L1] [master] from %p1
    }
  }
  etc.program @"none <- P1T0" none from P1T0 slabs 16, 0 peak 32 safe 32 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.send [L1] [master] to %p1
      etc.release [L1] [master]
    }
  }
}

// -----

// Devices that the request fixes may keep less than the certificate's most.
// CHECK-LABEL: etc.migration @fixed
etc.migration @fixed PP2 to PP2 on [1, 0] nodes [2] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P1T0 replicas [0]
  etc.pair P1T0 replicas [0] from P0T0 replicas [0]
  etc.placement [1, 0]
  etc.certificate device kept 32 u [16, 16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [16, 16] v [0] members [2]
  etc.program @"P0T0 <- P1T0" P0T0 from P1T0 slabs 16, 16 peak 64 safe 64 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.send [L1] [master] to %p1
      etc.recv [L0] [master] from %p1
      etc.release [L1] [master]
    }
  }
  etc.program @"P1T0 <- P0T0" P1T0 from P0T0 slabs 16, 16 peak 64 safe 64 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.send [L0] [master] to %p1
      etc.recv [L1] [master] from %p1
      etc.release [L0] [master]
    }
  }
}

// -----

// Device 1 passes on what it received a round before. On the node nothing but the relay brings it to device 2.
// CHECK-LABEL: etc.migration @relayed
// CHECK:       etc.send [L0] [master] to %p1 hop 1
etc.migration @relayed DP1 to DP3 nodes [3] layers 1 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from none on [1]
  etc.pair P0T0 replicas [1] from none on [2]
  etc.pair P0T0 replicas [2] from P0T0 replicas [0]
  etc.placement [1, 2, 0]
  etc.certificate device kept 16 u [0] v [16] members [1]
  etc.certificate node kept 48 u [16] v [0] members [3]
  etc.program @"P0T0 <- none" P0T0 from none slabs 16, 16 peak 48 safe 48 (%self = [1], %p1 = [2], %p2 = [0]) {
    etc.round 0 {
      etc.recv [L0] [master] from %p2
    }
    etc.round 1 {
      etc.send [L0] [master] to %p1 hop 1
    }
  }
  etc.program @"P0T0 <- none #2" P0T0 from none slabs 0, 16 peak 32 safe 32 (%self = [2], %p1 = [1]) {
    etc.round 1 {
      etc.recv [L0] [master] from %p1 hop 1
    }
  }
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 16, 0 peak 32 safe 32 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
      etc.send [L0] [master] to %p1
    }
  }
}
