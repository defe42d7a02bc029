// RUN: etc-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(etc.migration(etc-route))'

// Device 1, which had role P1T0, has failed.
etc.migration @dead PP2 to PP1 nodes [2] failed [1] layers 2 types [master : f32] stage demands {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.demands {
    // expected-error @+1 {{has no holder that is alive}}
    etc.demand [L1] [master] on [0] held_by [P1T0]
  }
}

// -----

// What was routed is not routed again.
etc.migration @both PP2 to PP1 nodes [2] layers 2 types [master : f32] stage demands {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.demands {
    etc.demand [L1] [master] on [0] held_by [P1T0]
  }
  // expected-error @+1 {{is there before etc-route, which adds it, has run}}
  etc.transfers {
    etc.transfer [L1] [master] from [1] to [0]
  }
}
