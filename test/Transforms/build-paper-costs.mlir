// RUN: etc-opt %s --etc-build-paper-costs --split-input-file | FileCheck %s

// 12 layers: stages of 3 become stages of 2. Four slices: halves become quarters.
// CHECK-LABEL: etc.migration @both
etc.migration @both PP4TP2 to PP6TP4 nodes [24] layers 12 types [param : bf16] stage workloads {
  // CHECK-NEXT: etc.cost_matrix pp #etc.matrix<[0, 2, 2, 2], [1, 1, 2, 2], [2, 0, 2, 2],
  // CHECK-SAME:   [2, 2, 0, 2], [2, 2, 1, 1], [2, 2, 2, 0]>
  // CHECK-NEXT: etc.cost_matrix tp #etc.matrix<[0, 1], [0, 1], [1, 0], [1, 0]>
  // P0T2 and P0T0 share no slice, and cost nothing: their stages cost 0, and 0 times 1 is 0. That is the rule.
  // CHECK-NEXT: etc.cost_matrix merged #etc.matrix<[0, 0, 2, 2, 2, 2, 2, 2],
  // CHECK-SAME:   [0, 0, 2, 2, 2, 2, 2, 2], [0, 0, 2, 2, 2, 2, 2, 2], [0, 0, 2, 2, 2, 2, 2, 2],
  // Where stages cost something and share something, the tensor ranks decide.
  // CHECK-SAME:   [0, 1, 0, 1, 2, 2, 2, 2], [0, 1, 0, 1, 2, 2, 2, 2], [1, 0, 1, 0, 2, 2, 2, 2],
}

// -----

// The tensor costs count: 12 slices in 3 and 4 parts. Merged costs are times max = 3.
// CHECK-LABEL: etc.migration @scaled
etc.migration @scaled PP2TP3 to PP1TP4 nodes [6] layers 4 types [param : bf16] stage workloads {
  // CHECK-NEXT: etc.cost_matrix pp #etc.matrix<[2, 2]>
  // CHECK-NEXT: etc.cost_matrix tp #etc.matrix<[0, 3, 3], [2, 1, 3], [3, 1, 2], [3, 3, 0]>
  // Both stages are as far as any: max, though they share half.
  // CHECK-NEXT: etc.cost_matrix merged #etc.matrix<[6, 6, 6, 6, 6, 6],
}

// -----

// Without tensor parallelism the coefficient is 0/0, and is taken as 1.
// CHECK-LABEL: etc.migration @no_tensor
etc.migration @no_tensor PP4 to PP2 nodes [4] layers 16 types [param : bf16] stage workloads {
  // CHECK: etc.cost_matrix tp #etc.matrix<[0]>
  // CHECK-NEXT: etc.cost_matrix merged #etc.matrix<[4, 4, 8, 8], [8, 8, 4, 4]>
}

// -----

// So it is where one tensor rank held all: the tensor ranks have nothing to say.
// CHECK-LABEL: etc.migration @from_one
etc.migration @from_one PP2 to PP2TP2 nodes [4] layers 4 types [param : bf16] stage workloads {
  // CHECK: etc.cost_matrix tp #etc.matrix<[0], [0]>
  // CHECK-NEXT: etc.cost_matrix merged #etc.matrix<[0, 2], [0, 2], [2, 0], [2, 0]>
}

// -----

// With one stage on both sides, 0 is the largest cost too, and the tensor ranks are not looked at.
// CHECK-LABEL: etc.migration @one_stage
etc.migration @one_stage PP1TP2 to PP1TP2 nodes [2] layers 4 types [param : bf16] stage workloads {
  // CHECK: etc.cost_matrix tp #etc.matrix<[0, 1], [1, 0]>
  // CHECK-NEXT: etc.cost_matrix merged #etc.matrix<[0, 0], [0, 0]>
}
