// RUN: etc-opt %s | etc-opt | FileCheck %s
// RUN: etc-opt %s --mlir-print-op-generic | etc-opt | FileCheck %s
// RUN: etc-opt %s --emit-bytecode | etc-opt --trust-bytecode | FileCheck %s

// CHECK-LABEL: etc.migration @programs
etc.migration @programs PP2DP2 to PP1DP2 nodes [4] layers 8
    types [param : bf16 from master, master : f32] {
  etc.tensor "embedding.word_embeddings.weight" in embed [256, 96] prev [128, 96] split 0
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [384, 96] split 0
  etc.tensor "output_layer.weight" in head [256, 96] prev [128, 96] split 0
      tied_to "embedding.word_embeddings.weight"

  // Without rounds, as etc-lower-to-instructions leaves it.
  // CHECK: etc.program @"P0T0 <- P0T0" P0T0 from P0T0 (%self = [0, 1], %p1 = [2, 3]) {
  etc.program @"P0T0 <- P0T0" P0T0 from P0T0 (%self = [0, 1], %p1 = [2, 3]) {
    // CHECK-NEXT: etc.refer [L0..3] [param, master]{{$}}
    etc.refer [L0..3] [param, master]
    // CHECK-NEXT: etc.recv [L4..7] [param, master] from %p1{{$}}
    etc.recv [L4..7] [param, master] from %p1
    // CHECK-NEXT: etc.zero [embed/embedding.word_embeddings.weight[128:256]] [param, master]
    etc.zero [embed/embedding.word_embeddings.weight[128:256]] [param, master]
  }

  // With rounds, slabs and peaks. Arguments are renamed, %self first.
  // CHECK: etc.program @"P0T0 <- P1T0" none from P1T0 slabs 4096, 0 peak 123 safe 456 (%self = [2, 3], %p1 = [0, 1]) {
  etc.program @"P0T0 <- P1T0" none from P1T0 slabs 4096, 0 peak 123 safe 456 (%a = [2, 3], %b = [0, 1]) {
    // CHECK-NEXT: etc.round 0 {
    etc.round 0 {
      // CHECK-NEXT: etc.send [L4..5] [param] to %p1{{$}}
      etc.send [L4..5] [param] to %b
      // CHECK-NEXT: etc.release [L4..5] [param]{{$}}
      etc.release [L4..5] [param]
      // CHECK-NEXT: }
    }
    // Rounds ascend, and need not be dense.
    // CHECK-NEXT: etc.round 7 {
    etc.round 7 {
      // CHECK-NEXT: etc.send [head/output_layer.weight] [param, master] to %p1
      etc.send [head/output_layer.weight] [param, master] to %b
      // CHECK-NEXT: etc.recv [L0.a] [param] from %p1
      etc.recv [L0.a] [param] from %b
      // CHECK-NEXT: etc.recv [L1.a] [param] from %p1 hop 1
      etc.recv [L1.a] [param] from %b hop 1
      // CHECK-NEXT: etc.send [L1.a] [param] to %p1 hop 2
      etc.send [L1.a] [param] to %b hop 2
      // CHECK-NEXT: etc.recv [L2.a] [param] from %p1 hop 1 transit
      etc.recv [L2.a] [param] from %b hop 1 transit
      // CHECK-NEXT: etc.send [L2.a] [param] to %p1 hop 2 transit
      etc.send [L2.a] [param] to %b hop 2 transit
      // CHECK-NEXT: etc.release [L2.a] [param] transit
      etc.release [L2.a] [param] transit
      // CHECK-NEXT: etc.refer [head/output_layer.weight] [param]
      etc.refer [head/output_layer.weight] [param]
    }
  }

  // A device that holds nothing, takes nothing and does nothing.
  // CHECK: etc.program @idle none from none (%self = []) {
  // CHECK-NEXT: }
  etc.program @idle none from none (%self = []) {
  }
}
