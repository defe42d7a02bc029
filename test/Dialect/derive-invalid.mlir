// RUN: etc-opt %s --split-input-file --verify-diagnostics

etc.migration @no_source PP2 to PP1 nodes [2] layers 4
    types [param : bf16 from master, master : f32] {
  etc.program @a P0T0 from P0T0 (%self = [0]) {
    // expected-error @+1 {{type 'master' is not derived from one of the migration's types}}
    etc.derive [L0] [param, master]
  }
}

// -----

etc.migration @source_elsewhere PP2 to PP1 nodes [2] layers 4 types [param : bf16 from master] {
  etc.program @a P0T0 from P0T0 (%self = [0]) {
    // expected-error @+1 {{type 'param' is not derived from one of the migration's types}}
    etc.derive [L0] [param]
  }
}

// -----

etc.migration @none PP2 to PP1 nodes [2] layers 4
    types [param : bf16 from master, master : f32] derive none {
  etc.program @a P0T0 from P0T0 (%self = [0]) {
    // expected-error @+1 {{type 'param' is not derived under 'derive none'}}
    etc.derive [L0] [param]
  }
}

// -----

etc.migration @unknown PP2 to PP1 nodes [2] layers 4
    types [param : bf16 from master, master : f32] {
  etc.program @a P0T0 from P0T0 (%self = [0]) {
    // expected-error @+1 {{type 'mean' is not one of the migration's}}
    etc.derive [L0] [mean]
  }
}

// -----

// expected-error @+1 {{type 'param' is derived from 'copy', which is derived itself}}
etc.migration @chain PP1 to PP1 nodes [1] layers 1
    types [param : bf16 from copy, copy : f16 from master, master : f32] {
}

// -----

// expected-error @+1 {{type 'param' is derived from 'param', which is derived itself}}
etc.migration @itself PP1 to PP1 nodes [1] layers 1 types [param : bf16 from param] {
}

// -----

// expected-error @+1 {{type 'param' cannot be cast from 'f64' to 'bf16', only from f32 to bf16 or f16}}
etc.migration @wide PP1 to PP1 nodes [1] layers 1 types [param : bf16 from master, master : f64] {
}

// -----

// expected-error @+1 {{type 'param' cannot be cast from 'f32' to 'f32', only from f32 to bf16 or f16}}
etc.migration @same PP1 to PP1 nodes [1] layers 1 types [param : f32 from master, master : f32] {
}
