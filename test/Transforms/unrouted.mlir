// Without etc-route the first living holder sends everything: the plan is right, and proved.
// RUN: etc-opt %s --split-input-file --verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(etc.migration(etc-build-workloads,etc-build-cost-matrix,etc-solve-assignment,etc-defragment,etc-build-demands,etc-schedule-chunks,etc-lower-to-instructions,etc-verify-plan))' \
// RUN:   | FileCheck %s

// Device 0 has failed, so device 1 serves four, and device 2, which has the same, none.
// CHECK-LABEL: etc.migration @first_holder
// CHECK-SAME:  stage proved
// CHECK:       etc.program @"P0T0 <- none" P0T0 from none {{.*}} (%self = [3, 4, 5, 6], %p1 = [1, 1, 1, 1]) {
// CHECK:       etc.program @"P0T0 <- P0T0" P0T0 from P0T0 {{.*}} (%self = [2]) {
// CHECK-NOT:   etc.send
// CHECK:       etc.program @"P0T0 <- P0T0 #2" P0T0 from P0T0 {{.*}} (%self = [1], %p1 = [3], %p2 = [4], %p3 = [5], %p4 = [6]) {
etc.migration @first_holder DP3 to DP6 nodes [1, 1, 1, 1, 1, 1, 1] failed [0] layers 1 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
}

// -----

// A tied copy that is new comes from its twin.
// CHECK-LABEL: etc.migration @new_copy
// CHECK-SAME:  stage proved
// CHECK:       etc.send [head{{.*}}
etc.migration @new_copy TP2 to PP2 nodes [2] layers 2 types [master : f32] {
  etc.tensor "embedding.weight" in embed [4, 2] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [2]
  etc.tensor "output.weight" in head [4, 2] split 0 tied_to "embedding.weight"
}

// -----

// One holder that serves all needs staging for all of them. A budget that leaves no room for that is refused as ever.
// expected-error @+1 {{memory budget: 1.1x is infeasible; the least found is 1.329x}}
etc.migration @budget DP1 to DP4 nodes [1, 1, 1, 1] layers 1 types [master : f32] attributes {budget_ppm = 1100000 : i64} {
  etc.tensor "decoder.layers.{layer}.weight" in layer [12, 256]
}
