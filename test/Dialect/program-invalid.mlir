// RUN: etc-opt %s --split-input-file --verify-diagnostics

etc.migration @unbound PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected a list of devices for each of 0 arguments, the first being the program's own}}
  etc.program @a P0T0 from P0T0 () {
  }
}

// -----

etc.migration @lists PP2DP2 to PP1DP2 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected lists of 2 devices, got one of 1}}
  etc.program @a P0T0 from P0T0 (%self = [0, 1], %p1 = [2]) {
  }
}

// -----

etc.migration @descending PP2DP2 to PP1DP2 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected its devices in ascending order}}
  etc.program @a P0T0 from P0T0 (%self = [1, 0]) {
  }
}

// -----

etc.migration @curr_role PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  // expected-error @+1 {{role P1T0 is not in the curr grid PP1}}
  etc.program @a P1T0 from P1T0 (%self = [1]) {
  }
}

// -----

etc.migration @prev_role PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  // expected-error @+1 {{role P0T1 is not in the prev grid PP2}}
  etc.program @a P0T0 from P0T1 (%self = [1]) {
  }
}

// -----

etc.migration @rounds PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  etc.program @a P0T0 from P0T0 (%self = [0]) {
    etc.round 1 {
    }
    // expected-error @+1 {{expected ascending rounds, got 1 after 1}}
    etc.round 1 {
    }
  }
}

// -----

etc.migration @negative_round PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  etc.program @a P0T0 from P0T0 (%self = [0]) {
    // expected-error @+1 {{expected ascending rounds}}
    etc.round -1 {
    }
  }
}

// -----

etc.migration @stray_round PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  // expected-error @+1 {{expects parent op 'etc.program'}}
  etc.round 0 {
  }
}

// -----

etc.migration @no_workload PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  etc.program @a P0T0 from P0T0 (%self = [0]) {
    // expected-error @+1 {{expected at least one workload and one type}}
    etc.refer [] [param]
  }
}

// -----

etc.migration @no_type PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  etc.program @a P0T0 from P0T0 (%self = [0]) {
    // expected-error @+1 {{expected at least one workload and one type}}
    etc.refer [L0] []
  }
}

// -----

etc.migration @type PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  etc.program @a P0T0 from P0T0 (%self = [0]) {
    // expected-error @+1 {{type 'master' is not one of the migration's}}
    etc.refer [L0] [param, master]
  }
}

// -----

etc.migration @layer PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  etc.program @a P0T0 from P0T0 (%self = [0]) {
    // expected-error @+1 {{layer 4 is not in [0, 4)}}
    etc.release [L4] [param]
  }
}

// -----

etc.migration @from_itself PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  etc.program @a P0T0 from P0T0 (%self = [0], %p1 = [1]) {
    // expected-error @+1 {{'etc.recv' op is between a device and itself, expected etc.refer}}
    etc.recv [L0] [param] from %self
  }
}

// -----

etc.migration @to_itself PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  etc.program @a P0T0 from P0T0 (%self = [0]) {
    // expected-error @+1 {{'etc.send' op is between a device and itself, expected etc.refer}}
    etc.send [L0] [param] to %self
  }
}

// -----

etc.migration @stray PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  // expected-error @+1 {{expects parent op to be one of 'etc.program, etc.round'}}
  etc.refer [L0] [param]
}

// -----

etc.migration @no_hop PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.program @a P0T0 from P0T0 (%self = [0], %p1 = [1]) {
    // expected-error @+1 {{attribute 'hop' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 1}}
    etc.send [L0] [param] to %p1 hop 0
  }
}

// -----

etc.migration @transit_without_hop PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4]
  etc.program @a P0T0 from P0T0 (%self = [0], %p1 = [1]) {
    // expected-error @+1 {{passes on what has arrived, expected a 'hop'}}
    etc.send [L0] [param] to %p1 transit
  }
}

// -----

etc.migration @late_round PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  etc.program @a P0T0 from P0T0 (%self = [0]) {
    // expected-error @+1 {{round 9223372036854775807 is not in [0, 1048576)}}
    etc.round 9223372036854775807 {
    }
    etc.round 0 {
    }
  }
}

// -----

etc.migration @no_such_device PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  // expected-error @+1 {{program device 9223372036854775807 is not in [0, 2)}}
  etc.program @a none from none (%self = [9223372036854775807]) {
  }
}

// -----

etc.migration @same_device PP2DP2 to PP1DP2 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{program device 1 is listed twice}}
  etc.program @a P0T0 from P0T0 (%self = [1, 1]) {
  }
}

// -----

etc.migration @no_such_peer PP2DP2 to PP1DP2 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{peer device -5 is not in [0, 4)}}
  etc.program @a P0T0 from P0T0 (%self = [0, 1], %p1 = [2, -5]) {
  }
}

// -----

etc.migration @own_peer PP2DP2 to PP1DP2 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{device 1 is its own peer}}
  etc.program @a P0T0 from P0T0 (%self = [0, 1], %p1 = [2, 1]) {
  }
}

// -----

etc.migration @unbound_peer PP2 to PP1 nodes [2] layers 4 types [param : bf16] {
  etc.program @a P0T0 from P0T0 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      // expected-error @+1 {{is no instruction, but in a program}}
      %device = builtin.unrealized_conversion_cast to !etc.device
      etc.recv [L0] [param] from %device
    }
  }
}
