// RUN: etc-opt %s --split-input-file --verify-diagnostics

etc.migration @matrix PP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected 4 rows and 2 columns, got 2 and 4}}
  etc.cost_matrix bytes #etc.matrix<[0, 0, 0, 0], [0, 0, 0, 0]>
}

// -----

etc.migration @curr_role PP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{role P4T0 is not in the curr grid PP4}}
  etc.pair P4T0 replicas [0] from P0T0 replicas [0]
}

// -----

etc.migration @prev_role PP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{role P2T0 is not in the prev grid PP2}}
  etc.pair P3T0 replicas [0] from P2T0 replicas [0]
}

// -----

etc.migration @curr_replica PP2DP2 to PP2DP2 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected distinct curr replicas in [0, 2), got 2}}
  etc.pair P0T0 replicas [0, 2] from P0T0 replicas [0, 1]
}

// -----

etc.migration @prev_replica PP2DP2 to PP2DP2 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected distinct prev replicas in [0, 2), got 1}}
  etc.pair P0T0 replicas [0, 1] from P0T0 replicas [1, 1]
}

// -----

etc.migration @counts PP2DP2 to PP2DP2 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{pairs 1 curr with 2 prev replicas}}
  etc.pair P0T0 replicas [0] from P0T0 replicas [0, 1]
}

// -----

etc.migration @no_replicas PP2DP2 to PP2DP2 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected previous replicas with a previous role, and only then}}
  etc.pair P0T0 replicas [0] from P0T0
}

// -----

etc.migration @replicas_of_none PP2DP2 to PP2DP2 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected previous replicas with a previous role, and only then}}
  etc.pair P0T0 replicas [0] from none replicas [0]
}

// -----

etc.migration @devices_of_some PP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{lists devices, which the previous replicas have already}}
  etc.pair P0T0 replicas [0] from P0T0 replicas [0] on [1]
}

// -----

etc.migration @devices_of_none PP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{places 1 replicas on 2 devices}}
  etc.pair P0T0 replicas [0] from none on [1, 2]
}

// -----

etc.migration @v PP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected 4 values of u and 3 of v, got 4 and 2}}
  etc.certificate node kept 0 u [0, 0, 0, 0] v [0, 0] members [1, 1, 1]
}

// -----

etc.migration @u PP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected 4 values of u and 2 of v, got 2 and 2}}
  etc.certificate device kept 0 u [0, 0] v [0, 0] members [1, 1]
}

// -----

etc.migration @members PP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected 2 members, one a previous role, got 3}}
  etc.certificate device kept 0 u [0, 0, 0, 0] v [0, 0] members [1, 1, 1]
}

// -----

etc.migration @kept PP1 to PP1 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{attribute 'kept' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  etc.certificate device kept -1 u [0] v [0] members [1]
}

// -----

etc.migration @placement PP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected 4 devices, one a current rank, got 2}}
  etc.placement [0, 1]
}

// -----

etc.migration @placed_outside PP2 to PP2 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{placement device 4 is not in [0, 4)}}
  etc.placement [0, 4]
}

// -----

etc.migration @placed_twice PP2 to PP2 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{placement device 0 is listed twice}}
  etc.placement [0, 0]
}

// -----

etc.migration @stages PP2TP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected 4 rows and 2 columns, got 4 and 4}}
  etc.cost_matrix pp #etc.matrix<[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]>
}

// -----

etc.migration @slices PP2TP2 to PP4 nodes [4] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected 1 rows and 2 columns, got 2 and 1}}
  etc.cost_matrix tp #etc.matrix<[0], [0]>
}

// -----

etc.migration @overlap_lists PP1DP2 zero1 to PP1DP2 zero1 nodes [2] layers 1 types [master : f32] {
  // expected-error @+1 {{lists 1 previous roles and the bytes of 2}}
  etc.overlap P0T0D0 with [P0T0D0] bytes [48, 8]
}

// -----

etc.migration @overlap_nothing PP1DP2 zero1 to PP1DP2 zero1 nodes [2] layers 1 types [master : f32] {
  // expected-error @+1 {{shares 0 bytes with P0T0D1; list those that share any}}
  etc.overlap P0T0D0 with [P0T0D1] bytes [0]
}

// -----

etc.migration @overlap_role PP1DP2 zero1 to PP1 nodes [2] layers 1 types [master : f32] {
  // expected-error @+1 {{role P0T0D0 is not in the curr grid PP1}}
  etc.overlap P0T0D0 with [P0T0D1] bytes [4]
}
