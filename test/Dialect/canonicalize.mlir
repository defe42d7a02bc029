// RUN: etc-opt %s --canonicalize --cse --symbol-dce | FileCheck %s

// The coarsest ids that mean the same, in forward order; types in the migration's.
// CHECK-LABEL: etc.migration @ids
etc.migration @ids TP2 to TP2 nodes [2] layers 4 types [param : bf16, master : f32] {
  etc.tensor "embedding.weight" in embed [8, 4] split 0
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [8, 4] split 0
  etc.tensor "decoder.layers.{layer}.norm.weight" in layer [4]
  // CHECK: etc.workload prev P0T0 [embed.a, L0..2.a, L0..2.*]{{ *$}}
  etc.workload prev P0T0 [L1..2.a, L0/norm.weight, L1..2.*, L0/linear.weight[0:4], embed.a] [master, param]
  // CHECK: etc.workload prev P0T1 [L0] [param]
  etc.workload prev P0T1 [L0.a, L0.b, L0.*] [param]
  // What is named twice stays so: it is an error, and not ours to hide.
  // CHECK: etc.workload curr P0T0 [L0, L0.a] [param]
  etc.workload curr P0T0 [L0, L0.a] [param]
  // CHECK: etc.program @"none <- P0T0"
  etc.program @"none <- P0T0" none from P0T0 (%self = [0], %p1 = [1]) {
    etc.round 0 {
      // CHECK-NEXT: etc.round 0 {
      // CHECK-NEXT: etc.send [L0] [param, master] to %p1
      etc.send [L0.*, L0.a..b] [master, param] to %p1
      // Equal instructions are two, and nothing is dead.
      // CHECK-NEXT: etc.send [L0] [param, master] to %p1
      etc.send [L0] [param, master] to %p1
      // CHECK-NEXT: etc.recv [L1] [param] from %p1
      etc.recv [L1] [param] from %p1
      // CHECK-NEXT: etc.refer [L1] [master]
      etc.refer [L1] [master]
      // CHECK-NEXT: etc.zero [L2..3] [master]
      etc.zero [L2, L3] [master]
      // CHECK-NEXT: etc.release [L3] [param]
      // CHECK-NEXT: etc.release [L3] [param]
      etc.release [L3] [param]
      etc.release [L3] [param]
      // CHECK-NEXT: }
    }
  }
}
