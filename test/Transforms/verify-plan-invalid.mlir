// RUN: etc-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(etc.migration(etc-verify-plan))'

// Instructions stand in rounds.
etc.migration @no_rounds PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [1]) {
    // expected-error @+1 {{is not in a round}}
    etc.refer [L0] [master]
    etc.recv [L1] [master] from %p1
  }
  etc.program @"none <- P1T0" none from P1T0 slabs 16, 0 peak 32 safe 32 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.send [L1] [master] to %p1
      etc.release [L1] [master]
    }
  }
}

// -----

// Layer 1 never arrives.
etc.migration @missing_receive PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-error @+1 {{never writes master of 'decoder.layers.1.weight' from position 0 on, of [0:4]}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
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

// Half of it does.
etc.migration @part_missing PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-error @+1 {{never writes master of 'decoder.layers.1.weight' from position 2 on, of [0:4]}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
      etc.recv [L1/weight[0:2]] [master] from %p1
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

// A hole between two pieces.
etc.migration @hole PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-error @+1 {{never writes master of 'decoder.layers.1.weight' from position 1 on, of [0:4]}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
      etc.recv [L1/weight[0:1], L1/weight[2:4]] [master] from %p1
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

// Two pieces overlap.
etc.migration @double_write PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
      etc.recv [L1/weight[0:3]] [master] from %p1
      // expected-error @+1 {{writes master of 'decoder.layers.1.weight' [2:4] a second time}}
      etc.recv [L1/weight[2:4]] [master] from %p1
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

// The previous shape is longer: positions 4 to 7 are not the current role's.
etc.migration @outside PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4] prev [8]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
      // expected-error @+1 {{writes master of 'decoder.layers.1.weight' [0:8] outside of the role's}}
      etc.recv [L1/weight[0:8]] [master] from %p1
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

// A single stage has no tied copy.
etc.migration @foreign_tensor PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.tensor "embedding.weight" in embed [4]
  etc.tensor "output.weight" in head [4] tied_to "embedding.weight"
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-error @+1 {{writes 4 tensors, its role has 3}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [embed, L0] [master]
      etc.zero [head] [master]
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

// Device 1 sends what device 0 holds.
etc.migration @foreign_read PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
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
      // expected-error @+1 {{reads 'decoder.layers.0.weight' [0:4], which the device does not hold}}
      etc.send [L0] [master] to %p1
      etc.release [L1] [master]
    }
  }
}

// -----

// Device 1 frees what device 0 holds.
etc.migration @foreign_release PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
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
      // expected-error @+1 {{releases 'decoder.layers.0.weight', of which the device holds something else}}
      etc.release [L0] [master]
    }
  }
}

// -----

// Previous state is released whole.
etc.migration @part_release PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
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
      // expected-error @+1 {{releases 'decoder.layers.1.weight', of which the device holds something else}}
      etc.release [L1/weight[0:2]] [master]
    }
  }
}

// -----

// Once is enough.
etc.migration @double_release PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
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
      // expected-error @+1 {{releases 'decoder.layers.1.weight' a second time}}
      etc.release [L1] [master] // again
    }
  }
}

// -----

// Layer 0 is current state without a copy.
etc.migration @bound_release PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-error @+1 {{releases 'decoder.layers.0.weight', whose memory the current state is bound to}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
      etc.recv [L1] [master] from %p1
      etc.release [L0] [master]
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

// Layer 1 is freed a round before it is sent.
etc.migration @read_after_release PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
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
      etc.release [L1] [master]
    }
    etc.round 1 {
      // expected-error @+1 {{reads 'decoder.layers.1.weight' in round 1, after its release in round 0}}
      etc.send [L1] [master] to %p1
    }
  }
}

// -----

// A message of 16 bytes.
etc.migration @send_slab PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
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
  // expected-error @+1 {{states a send slab of 12 bytes, it is 16}}
  etc.program @"none <- P1T0" none from P1T0 slabs 12, 0 peak 32 safe 32 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.send [L1] [master] to %p1
      etc.release [L1] [master]
    }
  }
}

// -----

// And where it arrives.
etc.migration @recv_slab PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-error @+1 {{states a receive slab of 20 bytes, it is 16}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 20 peak 48 safe 48 (%self = [0], %p1 = [1]) {
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

// 16 old, 16 new and 16 bytes of staging.
etc.migration @peak PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-error @+1 {{states a peak of 47 bytes, it is 48}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 47 safe 48 (%self = [0], %p1 = [1]) {
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

// The same where nothing is released.
etc.migration @safe_peak PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-error @+1 {{states a safe peak of 49 bytes, it is 48}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 49 (%self = [0], %p1 = [1]) {
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

// Nothing is deferred.
etc.migration @tail_of_nothing PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-error @+1 {{states the peak of a tail, but nothing is deferred}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 tail 48 safe 48 (%self = [0], %p1 = [1]) {
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

// What is freed a round late counts until then: state is 16 bytes, staging 16, whatever is stated.
etc.migration @late_release PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
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
  // expected-error @+1 {{states a peak of 16 bytes, it is 32}}
  etc.program @"none <- P1T0" none from P1T0 slabs 16, 0 peak 16 safe 32 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.send [L1] [master] to %p1
    }
    etc.round 1 {
      etc.release [L1] [master]
    }
  }
}

// -----

// A device does one thing.
etc.migration @two_programs PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
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
  etc.program @"again" none from P1T0 slabs 0, 0 peak 16 safe 16 (%self = [1]) {
  }
  // expected-error @+1 {{device 1 has a program already}}
  etc.program @"none <- P1T0" none from P1T0 slabs 16, 0 peak 32 safe 32 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.send [L1] [master] to %p1
      etc.release [L1] [master]
    }
  }
}

// -----

// The stage before has no placement.
// expected-error @+1 {{has no etc.placement; run etc-defragment first}}
etc.migration @no_placement PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
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

// Current state on a dead device.
etc.migration @dead PP2 to PP1 nodes [3] failed [0] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from none on [0]
  // expected-error @+1 {{gives current rank 0 to device 0, which is dead}}
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

// Or on one that leaves.
etc.migration @draining PP2 to PP1 nodes [3] draining [0] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  // expected-error @+1 {{gives current rank 0 to device 0, which is draining}}
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

// Device 1 holds layer 1 and has nothing to do.
// expected-error @+1 {{device 1 of prev rank 1 has no program}}
etc.migration @idle_holder PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
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
}

// -----

// Device 2 is to hold all and has nothing to do.
// expected-error @+1 {{device 2 of curr rank 0 has no program}}
etc.migration @idle_taker PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from none on [2]
  etc.placement [2]
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

// Device 1 was rank 1, stage 1.
etc.migration @wrong_prev_role PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
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
  // expected-error @+1 {{device 1 is prev rank 1, expected the role P1T0}}
  etc.program @"none <- P1T0" none from P0T0 slabs 16, 0 peak 32 safe 32 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.send [L1] [master] to %p1
      etc.release [L1] [master]
    }
  }
}

// -----

// Device 0 is to be rank 0.
etc.migration @wrong_curr_role PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-error @+1 {{device 0 is curr rank 0, expected the role P0T0}}
  etc.program @"P0T0 <- P0T0" none from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [1]) {
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

// Device 2 had no rank.
// expected-error @+1 {{programs have devices with roles that no rank has}}
etc.migration @stranger PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
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
  etc.program @"stranger" none from P1T0 slabs 0, 0 peak 16 safe 16 (%self = [2]) {
  }
}

// -----

// Device 0 waits for one that does nothing.
etc.migration @idle_peer PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-error @+1 {{device 0 has peer 2, which has no program}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [2]) {
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

// Device 2 receives from device 1, which sends to device 0 alone.
etc.migration @wrong_peer PP2 to DP2 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.pair P0T0 replicas [1] from none on [2]
  etc.placement [0, 2]
  etc.certificate device kept 32 u [0] v [16, 16] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
      etc.recv [L1] [master] from %p1
    }
  }
  // expected-error @+1 {{device 2 has peer 1, which does not know it}}
  etc.program @"P0T0 <- none" P0T0 from none slabs 0, 32 peak 64 safe 64 (%self = [2], %p1 = [1]) {
    etc.round 0 {
      etc.recv [L0..1] [master] from %p1
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

// Nobody sends what device 0 waits for.
etc.migration @missing_send PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-note @+1 {{the program of device 0}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
      etc.recv [L1] [master] from %p1
    }
  }
  // expected-error @+1 {{device 1 sends 0 pieces to 0, which does not receive the same 1 in the same rounds}}
  etc.program @"none <- P1T0" none from P1T0 slabs 0, 0 peak 16 safe 16 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.release [L1] [master]
    }
  }
}

// -----

// Sent in round 0, expected in round 1.
etc.migration @other_round PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-note @+1 {{the program of device 0}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
    }
    etc.round 1 {
      etc.recv [L1] [master] from %p1
    }
  }
  // expected-error @+1 {{device 1 sends 1 pieces to 0, which does not receive the same 1 in the same rounds}}
  etc.program @"none <- P1T0" none from P1T0 slabs 16, 0 peak 32 safe 32 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.send [L1] [master] to %p1
      etc.release [L1] [master]
    }
  }
}

// -----

// Cut in two at one end, whole at the other.
etc.migration @other_pieces PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-note @+1 {{the program of device 0}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 16 peak 48 safe 48 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
      etc.recv [L1] [master] from %p1
    }
  }
  // expected-error @+1 {{device 1 sends 2 pieces to 0, which does not receive the same 1 in the same rounds}}
  etc.program @"none <- P1T0" none from P1T0 slabs 16, 0 peak 32 safe 32 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.send [L1/weight[0:2], L1/weight[2:4]] [master] to %p1
      etc.release [L1] [master]
    }
  }
}

// -----

// The stage before has no certificate.
// expected-error @+1 {{has no etc.certificate of the device level; run etc-solve-assignment first}}
etc.migration @no_certificate PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
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

// Or one of the level of nodes.
// expected-error @+1 {{has no etc.certificate of the node level; run etc-solve-assignment first}}
etc.migration @no_node_certificate PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
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

// Role P0T0 shares 16 bytes with either previous role: 0 + 15 do not cover that.
etc.migration @weak_dual PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  // expected-error @+1 {{proves nothing: u[0] + v[0] is 15, less than the 16 bytes of row 0 that column 0 has (V10)}}
  etc.certificate device kept 16 u [15] v [0, 0] members [1, 1]
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

// Duals of 17 prove less than what is claimed.
etc.migration @dear_dual PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  // expected-error @+1 {{proves nothing: its duals prove 17 bytes kept, it states 16 (V10)}}
  etc.certificate device kept 16 u [17] v [0, 0] members [1, 1]
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

// Duals of 16 prove 16 bytes, not 15.
etc.migration @claim PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  // expected-error @+1 {{proves nothing: its duals prove 16 bytes kept, it states 15 (V10)}}
  etc.certificate device kept 15 u [16] v [0, 0] members [1, 1]
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

// Device 1 may take the role, too.
etc.migration @members PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  // expected-error @+1 {{does not count the devices that may take a role}}
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 0]
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

// One node, one column.
etc.migration @columns PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  // expected-error @+1 {{has 2 columns, expected 1}}
  etc.certificate node kept 32 u [32] v [0, 0] members [3, 0]
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

// Device 1 passes on what arrives in the same round.
etc.migration @relayed_early DP1 to DP3 nodes [3] layers 1 types [master : f32] stage instructions {
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
      // expected-error @+1 {{relays 'decoder.layers.0.weight' [0:4] in round 0, before which it has not arrived}}
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

// -----

// Device 2 counts on device 1 having had it before the migration.
etc.migration @relayed_after_all DP1 to DP3 nodes [3] layers 1 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from none on [1]
  etc.pair P0T0 replicas [1] from none on [2]
  etc.pair P0T0 replicas [2] from P0T0 replicas [0]
  etc.placement [1, 2, 0]
  etc.certificate device kept 16 u [0] v [16] members [1]
  etc.certificate node kept 48 u [16] v [0] members [3]
  // expected-error @+1 {{device 1 sends 1 pieces to 2, which does not receive the same 1 in the same rounds}}
  etc.program @"P0T0 <- none" P0T0 from none slabs 16, 16 peak 48 safe 48 (%self = [1], %p1 = [2], %p2 = [0]) {
    etc.round 0 {
      etc.recv [L0] [master] from %p2
    }
    etc.round 1 {
      etc.send [L0] [master] to %p1 hop 1
    }
  }
  // expected-note @+1 {{the program of device 2}}
  etc.program @"P0T0 <- none #2" P0T0 from none slabs 0, 16 peak 32 safe 32 (%self = [2], %p1 = [1]) {
    etc.round 1 {
      etc.recv [L0] [master] from %p1
    }
  }
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 16, 0 peak 32 safe 32 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
      etc.send [L0] [master] to %p1
    }
  }
}

// -----

// Device 2 expects it from one relay further on.
etc.migration @another_hop DP1 to DP3 nodes [3] layers 1 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from none on [1]
  etc.pair P0T0 replicas [1] from none on [2]
  etc.pair P0T0 replicas [2] from P0T0 replicas [0]
  etc.placement [1, 2, 0]
  etc.certificate device kept 16 u [0] v [16] members [1]
  etc.certificate node kept 48 u [16] v [0] members [3]
  // expected-error @+1 {{device 1 sends 1 pieces to 2, which does not receive the same 1 in the same rounds}}
  etc.program @"P0T0 <- none" P0T0 from none slabs 16, 16 peak 48 safe 48 (%self = [1], %p1 = [2], %p2 = [0]) {
    etc.round 0 {
      etc.recv [L0] [master] from %p2
    }
    etc.round 1 {
      etc.send [L0] [master] to %p1 hop 1
    }
  }
  // expected-note @+1 {{the program of device 2}}
  etc.program @"P0T0 <- none #2" P0T0 from none slabs 0, 16 peak 32 safe 32 (%self = [2], %p1 = [1]) {
    etc.round 1 {
      etc.recv [L0] [master] from %p1 hop 2
    }
  }
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 16, 0 peak 32 safe 32 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
      etc.send [L0] [master] to %p1
    }
  }
}

// -----

// Device 0 never receives it.
etc.migration @relays_what_it_kept DP1 to DP3 nodes [3] layers 1 types [master : f32] stage instructions {
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
      // expected-error @+1 {{relays 'decoder.layers.0.weight' [0:4] in round 0, before which it has not arrived}}
      etc.send [L0] [master] to %p1 hop 1
    }
  }
}

// -----

// The peak is real, and more than the request allows.
etc.migration @beyond_bytes PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions attributes {budget_bytes = 47 : i64} {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-error @+1 {{peaks at 48 bytes, the memory budget allows 47 (V9)}}
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

// 1.49 times the larger state, which is 32 bytes.
etc.migration @beyond_ratio PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions attributes {budget_ppm = 1490000 : i64} {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-error @+1 {{peaks at 48 bytes, the memory budget allows 47 (V9)}}
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

// The sketch has role P0T0 where previous stage 1 was.
etc.migration @beside_the_sketch PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P1T0 replicas [0]
  // expected-error @+1 {{has replica 0 of P0T0 on device 0, its pair on 1 (V1)}}
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

// Nobody has 40 bytes of what has 32: true, and no bound worth stating.
etc.migration @loose_dual PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  // expected-error @+1 {{is no least bound: u[0] could be lower (V10)}}
  etc.certificate node kept 40 u [40] v [0] members [3]
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

// On one node the role belongs on device 1, which has twice as much of it.
etc.migration @less_than_the_bound PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.tensor "decoder.norm.weight" in final [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  // expected-error @+1 {{proves 32 bytes kept, the programs keep 16 (V11)}}
  etc.certificate device kept 32 u [32] v [0, 0] members [1, 1]
  etc.certificate node kept 48 u [48] v [0] members [3]
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 slabs 0, 32 peak 80 safe 80 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      etc.refer [L0] [master]
      etc.recv [L1, final] [master] from %p1
    }
  }
  etc.program @"none <- P1T0" none from P1T0 slabs 32, 0 peak 64 safe 64 (%self = [1], %p1 = [0]) {
    etc.round 0 {
      etc.send [L1, final] [master] to %p1
      etc.release [L1, final] [master]
    }
  }
}

// -----

// A slab that is not stated.
etc.migration @no_slabs PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.placement [0]
  etc.certificate device kept 16 u [16] v [0, 0] members [1, 1]
  etc.certificate node kept 32 u [32] v [0] members [3]
  // expected-error @+1 {{states no send slab, it is 0 bytes (V8)}}
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 peak 48 safe 48 (%self = [0], %p1 = [1]) {
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

// Every replica has a pair.
// expected-error @+1 {{has no etc.pair of P0T0 replica 0; run etc-solve-assignment first}}
etc.migration @no_pair PP2 to PP1 nodes [3] layers 2 types [master : f32] stage instructions {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
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

// The paper's method leaves its costs: without them the policy excuses nothing.
// expected-error @+1 {{has the paper's policy, but no etc.cost_matrix in merged, by which the paper's method places roles (V1)}}
etc.migration @not_the_papers PP2 to PP1 nodes [3] layers 2 types [master : f32] policy paper stage instructions {
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
