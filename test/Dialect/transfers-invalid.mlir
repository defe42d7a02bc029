// RUN: etc-opt %s --split-input-file --verify-diagnostics

// A demand is of something.
etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.demands {
    // expected-error @+1 {{'etc.demand' op expected at least one workload and one type}}
    etc.demand [] [master] on [0] held_by [P1T0]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.demands {
    // expected-error @+1 {{'etc.demand' op type 'moment' is not one of the migration's}}
    etc.demand [L1] [moment] on [0] held_by [P1T0]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.demands {
    // expected-error @+1 {{'etc.demand' op layer 2 is not in [0, 2)}}
    etc.demand [L2] [master] on [0] held_by [P1T0]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.demands {
    // expected-error @+1 {{'etc.demand' op lacking device 3 is not in [0, 3)}}
    etc.demand [L1] [master] on [3] held_by [P1T0]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.demands {
    // expected-error @+1 {{'etc.demand' op lacking device 0 is listed twice}}
    etc.demand [L1] [master] on [0, 0] held_by [P1T0]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.demands {
    // expected-error @+1 {{'etc.demand' op expected at least one device and one holder}}
    etc.demand [L1] [master] on [] held_by [P1T0]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.demands {
    // expected-error @+1 {{'etc.demand' op expected at least one device and one holder}}
    etc.demand [L1] [master] on [0] held_by []
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.demands {
    // expected-error @+1 {{'etc.demand' op role P2T0 is not in the prev grid PP2}}
    etc.demand [L1] [master] on [0] held_by [P2T0]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.demands {
    // expected-error @+1 {{'etc.demand' op holder P1T0 is listed twice}}
    etc.demand [L1] [master] on [0] held_by [P1T0, P1T0]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.demands {
    // expected-error @+1 {{expected a role like P0T1, got 'p1'}}
    etc.demand [L1] [master] on [0] held_by [p1]
  }
}

// -----

// Lists of one length.
etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.transfers {
    // expected-error @+1 {{'etc.transfer' op expected a source for each destination, got 1 for 2}}
    etc.transfer [L1] [master] from [1] to [0, 2]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.transfers {
    // expected-error @+1 {{'etc.transfer' op expected at least one destination}}
    etc.transfer [L1] [master] from [] to []
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.transfers {
    // expected-error @+1 {{'etc.transfer' op source device 3 is not in [0, 3)}}
    etc.transfer [L1] [master] from [3] to [0]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.transfers {
    // expected-error @+1 {{'etc.transfer' op destination device 0 is listed twice}}
    etc.transfer [L1] [master] from [1, 1] to [0, 0]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.transfers {
    // expected-error @+1 {{'etc.transfer' op device 1 sends to itself}}
    etc.transfer [L1] [master] from [1] to [1]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.transfers {
    // expected-error @+1 {{'etc.transfer' op type 'moment' is not one of the migration's}}
    etc.transfer [L1] [moment] from [1] to [0]
  }
}

// -----

// A relay has received before.
etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.transfers {
    // expected-error @+1 {{'etc.transfer' op device 1 relays with hop 1, but receives nothing with hop 0}}
    etc.transfer [L1] [master] from [1] to [0] hop 1
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.transfers {
    etc.transfer [L1] [master] from [1] to [0]
    // expected-error @+1 {{'etc.transfer' op device 0 relays with hop 1, but receives nothing in transit with hop 0}}
    etc.transfer [L1] [master] from transit [0] to [2] hop 1
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.transfers {
    // expected-error @+1 {{'etc.transfer' op device 2 receives in transit with hop 0, but passes nothing on with hop 1}}
    etc.transfer [L1] [master] from [1] to transit [2]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.transfers {
    // expected-error @+1 {{'etc.transfer' op passes on what has arrived, expected a 'hop'}}
    etc.transfer [L1] [master] from transit [1] to [0]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.transfers {
    // expected-error @+1 {{'etc.transfer' op attribute 'hop' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 1}}
    etc.transfer [L1] [master] from [1] to [0] hop 0
  }
}

// -----

// Rounds of chunks.
etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.schedule {
    // expected-error @+1 {{'etc.cut' op expected a round for each of at least one chunk, the same number at every hop}}
    etc.cut [L0] [master] rounds []
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.schedule {
    // expected-error @+1 {{'etc.cut' op expected a round for each of at least one chunk, the same number at every hop}}
    etc.cut [L0] [master] rounds [0, 1], [1]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.schedule {
    // expected-error @+1 {{'etc.cut' op expected the rounds of a hop in ascending order}}
    etc.cut [L0] [master] rounds [1, 0]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.schedule {
    // expected-error @+1 {{'etc.cut' op expected the rounds of a hop in ascending order}}
    etc.cut [L0] [master] rounds [-1]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.schedule {
    // expected-error @+1 {{'etc.cut' op hop 1 sends a chunk in round 1 that arrives in round 1}}
    etc.cut [L0] [master] rounds [0, 1], [1, 1]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.schedule {
    // expected-error @+1 {{'etc.cut' op type 'moment' is not one of the migration's}}
    etc.cut [L0] [moment] rounds [0]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.schedule {
    // expected-error @+1 {{'etc.cut' op attribute 'derived' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
    etc.cut [L0] [master] rounds [0] derived -1
  }
}

// -----

// Entries stand in their list.
etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  // expected-error @+1 {{'etc.transfer' op expects parent op 'etc.transfers'}}
  etc.transfer [L1] [master] from [1] to [0]
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.schedule {
    // expected-error @+1 {{'etc.cut' op round 1048576 is not in [0, 1048576)}}
    etc.cut [L0] [master] rounds [0, 1048576]
  }
}

// -----

etc.migration @m PP2 to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.schedule {
    // expected-error @+1 {{'etc.cut' op round 1048576 is not in [0, 1048576)}}
    etc.cut [L0] [master] rounds [0] derived 1048576
  }
}

// -----

// An inventory's devices hold what each lists; there is no pool of them.
etc.migration @m DP2 inventory to DP2 nodes [3] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 2] split 0
  etc.demands {
    // expected-error @+1 {{'etc.demand' op role P0T0 is not in the prev grid DP2 inventory}}
    etc.demand [L1] [master] on [2] held_by [P0T0]
  }
}
