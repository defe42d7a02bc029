// RUN: etc-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(etc.migration(etc-verify-plan))'

// The plan that the others spoil. Kept are 16 bytes of the master; the 8 of the parameter are nothing to save.
etc.migration @whole TP2 to TP1 nodes [2] layers 1 types [param : bf16 from master, master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [4, 2] split 0
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [2]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 80 safe 88 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0.a] [param]
      etc.release [L0.a] [param]
    }
    etc.round 1 {
      etc.refer [L0.a] [master]
      etc.recv [L0.b] [master] from %p1
      etc.release [L0.a] [master]
    }
    etc.round 2 {
      etc.derive [L0.b] [param]
    }
  }
  etc.program @"none <- P0T1" none from P0T1 slabs 16, 0 peak 40 safe 40 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.release [L0.b] [param]
    }
    etc.round 1 {
      etc.send [L0.b] [master] to %p1
      etc.release [L0.b] [master]
    }
  }
}

// -----

etc.migration @same_round TP2 to TP1 nodes [2] layers 1 types [param : bf16 from master, master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [4, 2] split 0
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [2]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 80 safe 88 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0.a] [param]
      etc.release [L0.a] [param]
    }
    etc.round 1 {
      etc.refer [L0.a] [master]
      etc.recv [L0.b] [master] from %p1
      // expected-error @+1 {{derives param of 'decoder.layers.0.mlp.linear_fc1.weight' [2:4] in round 1, before which its master is not complete}}
      etc.derive [L0.b] [param]
      etc.release [L0.a] [master]
    }
  }
  etc.program @"none <- P0T1" none from P0T1 slabs 16, 0 peak 40 safe 40 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.release [L0.b] [param]
    }
    etc.round 1 {
      etc.send [L0.b] [master] to %p1
      etc.release [L0.b] [master]
    }
  }
}

// -----

etc.migration @too_much TP2 to TP1 nodes [2] layers 1 types [param : bf16 from master, master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [4, 2] split 0
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [2]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 80 safe 88 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0.a] [param]
      etc.release [L0.a] [param]
    }
    etc.round 1 {
      etc.refer [L0.a] [master]
      etc.recv [L0.b] [master] from %p1
      etc.release [L0.a] [master]
    }
    etc.round 2 {
      // expected-error @+1 {{writes param of 'decoder.layers.0.mlp.linear_fc1.weight' [0:4] a second time}}
      etc.derive [L0] [param]
    }
  }
  etc.program @"none <- P0T1" none from P0T1 slabs 16, 0 peak 40 safe 40 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.release [L0.b] [param]
    }
    etc.round 1 {
      etc.send [L0.b] [master] to %p1
      etc.release [L0.b] [master]
    }
  }
}

// -----

etc.migration @forgotten TP2 to TP1 nodes [2] layers 1 types [param : bf16 from master, master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [4, 2] split 0
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [2]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  // expected-error @+1 {{never writes param of 'decoder.layers.0.mlp.linear_fc1.weight' from position 2 on, of [0:4]}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 80 safe 88 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0.a] [param]
      etc.release [L0.a] [param]
    }
    etc.round 1 {
      etc.refer [L0.a] [master]
      etc.recv [L0.b] [master] from %p1
      etc.release [L0.a] [master]
    }
  }
  etc.program @"none <- P0T1" none from P0T1 slabs 16, 0 peak 40 safe 40 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.release [L0.b] [param]
    }
    etc.round 1 {
      etc.send [L0.b] [master] to %p1
      etc.release [L0.b] [master]
    }
  }
}

// -----

etc.migration @kept_of_all TP2 to TP1 nodes [2] layers 1 types [param : bf16 from master, master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [4, 2] split 0
  // expected-error @+1 {{is no least bound: u[0] could be lower (V10)}}
  etc.certificate device kept 24 u [24] v [0, 0] members [1, 1]
  etc.certificate node kept 48 u [48] v [0] members [2]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 80 safe 88 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0.a] [param]
      etc.release [L0.a] [param]
    }
    etc.round 1 {
      etc.refer [L0.a] [master]
      etc.recv [L0.b] [master] from %p1
      etc.release [L0.a] [master]
    }
    etc.round 2 {
      etc.derive [L0.b] [param]
    }
  }
  etc.program @"none <- P0T1" none from P0T1 slabs 16, 0 peak 40 safe 40 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.release [L0.b] [param]
    }
    etc.round 1 {
      etc.send [L0.b] [master] to %p1
      etc.release [L0.b] [master]
    }
  }
}
