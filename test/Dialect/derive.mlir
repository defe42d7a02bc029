// RUN: etc-opt %s | etc-opt | FileCheck %s
// RUN: etc-opt %s --mlir-print-op-generic | etc-opt | FileCheck %s
// RUN: etc-opt %s --emit-bytecode | etc-opt --trust-bytecode | FileCheck %s

// CHECK-LABEL: etc.migration @derived PP2 to PP1 nodes [2] layers 8
// CHECK-SAME: types [param : bf16 from master, master : f32] {
etc.migration @derived PP2 to PP1 nodes [2] layers 8
    types [param : bf16 from master, master : f32] {
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [384, 96] split 0

  // CHECK: etc.program
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 (%self = [0], %p1 = [1]) {
    // Before it is scheduled.
    // CHECK-NEXT: etc.recv [L4..7] [master] from %p1{{$}}
    etc.recv [L4..7] [master] from %p1
    // CHECK-NEXT: etc.derive [L4..7] [param]{{$}}
    etc.derive [L4..7] [param]
    // CHECK-NEXT: etc.round 1 {
    etc.round 1 {
      // CHECK-NEXT: etc.derive [L5/mlp.linear_fc1.weight[8:16]] [param]{{$}}
      etc.derive [L5/mlp.linear_fc1.weight[8:16]] [param]
    }
  }
}

// bf16 and f16 are what may be cast to. A type whose source is not there is moved.
// CHECK-LABEL: etc.migration @kinds
// CHECK-SAME: types [param : bf16 from master, shadow : f16 from master, master : f32, mean : f32 from elsewhere] {
etc.migration @kinds PP1 to PP1 nodes [1] layers 1
    types [param : bf16 from master, shadow : f16 from master, master : f32, mean : f32 from elsewhere] {
}

// CHECK-LABEL: etc.migration @none
// CHECK-SAME: types [param : bf16 from master, master : f32] derive none {
etc.migration @none PP1 to PP1 nodes [1] layers 1
    types [param : bf16 from master, master : f32] derive none {
}

// CHECK-LABEL: etc.migration @none_with_budget
// CHECK-SAME: types [param : bf16] derive none attributes {budget_ppm = 1050000 : i64} {
etc.migration @none_with_budget PP1 to PP1 nodes [1] layers 1 types [param : bf16] derive none
    attributes {budget_ppm = 1050000 : i64} {
}
