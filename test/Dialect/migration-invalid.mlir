// RUN: etc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected parallel degrees like PP4TP2DP3, got 'TP2PP4'}}
etc.migration @order TP2PP4 to PP1 nodes [8] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{expected parallel degrees like PP4TP2DP3, got 'PPx'}}
etc.migration @number PPx to PP1 nodes [8] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{expected parallel degrees like PP4TP2DP3, got 'PP4TP'}}
etc.migration @no_number PP4TP to PP1 nodes [8] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{parallel degrees must be at least 1, got TP0}}
etc.migration @zero PP1 to TP0 nodes [8] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{a world of more than 1048576 ranks is not supported}}
etc.migration @vast PP1048576TP2 to PP1 nodes [8] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{every node must have at least one device}}
etc.migration @empty_node PP1 to PP1 nodes [4, 0] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{prev: 4 layers do not divide over PP = 3}}
etc.migration @uneven PP3 to PP1 nodes [4] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{curr: a world of 8 ranks exceeds the cluster's 4 devices}}
etc.migration @crowded PP4 to PP4TP2 nodes [2, 2] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{prev: expected 2 devices, one a rank, got 3}}
etc.migration @count PP2 on [0, 1, 2] to PP1 nodes [4] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{curr device 4 is not in [0, 4)}}
etc.migration @absent PP2 to PP2 on [0, 4] nodes [4] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{prev device 1 is listed twice}}
etc.migration @twice PP2 on [1, 1] to PP2 nodes [4] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{failed device -1 is not in [0, 4)}}
etc.migration @failed PP2 to PP2 nodes [4] failed [-1] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{draining device 3 is listed twice}}
etc.migration @draining PP2 to PP2 nodes [4] draining [3, 3] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{attribute 'layers' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
etc.migration @layers PP1 to PP1 nodes [4] layers 0 types [param : bf16] {
}

// -----

// expected-error @+1 {{attribute 'vocab' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
etc.migration @vocab PP1 to PP1 nodes [4] layers 1 vocab 0 types [param : bf16] {
}

// -----

// expected-error @+1 {{has a budget in bytes and one in ppm, expected one of them}}
etc.migration @budgets PP1 to PP1 nodes [4] layers 4 types [param : bf16]
    attributes {budget_bytes = 1 : i64, budget_ppm = 1050000 : i64} {
}

// -----

// expected-error @+2 {{attribute 'budget_bytes' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
etc.migration @no_budget PP1 to PP1 nodes [4] layers 4 types [param : bf16]
    attributes {budget_bytes = 0 : i64} {
}

// -----

// expected-error @+1 {{type 'param' is listed twice}}
etc.migration @types_twice PP1 to PP1 nodes [4] layers 4 types [param : bf16, param : f32] {
}

// -----

// expected-error @+1 {{type 'mask': expected bf16, f16, f32, f64, i64 or i8, got 'i1'}}
etc.migration @bits PP1 to PP1 nodes [4] layers 4 types [mask : i1] {
}

// -----

// expected-error @+1 {{expected at least one type}}
etc.migration @no_types PP1 to PP1 nodes [4] layers 4 types [] {
}

// -----

// No plan has elements of no bytes, or of two megabytes.
// expected-error @+1 {{type 'mask': expected bf16, f16, f32, f64, i64 or i8, got 'i0'}}
etc.migration @empty PP1 to PP1 nodes [1] layers 4 types [mask : i0] {
}

// -----

// expected-error @+1 {{type 'mask': expected bf16, f16, f32, f64, i64 or i8, got 'i16777208'}}
etc.migration @wide PP1 to PP1 nodes [1] layers 4 types [mask : i16777208] {
}

// -----

module {
  etc.migration @outer PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
    // expected-error @+1 {{'etc.migration' op expects parent op 'builtin.module'}}
    etc.migration @inner PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
    }
  }
}
