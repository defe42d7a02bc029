// RUN: etc-opt %s --pass-pipeline='builtin.module(etc-two-stage)' --split-input-file --verify-diagnostics | FileCheck %s

// The second migration begins where the first one ends, and goes to the placement that etc-defragment would give.
// CHECK-LABEL: etc.migration @job PP4 to PP2 nodes [4]
// CHECK:         etc.placement [0, 2]
// CHECK-NOT:     etc.workload
// CHECK-LABEL: etc.migration @job.defragment PP2 on [0, 2] to PP2 on [0, 1] nodes [4] layers 4 types [param : bf16] policy paper
// Current shapes on both sides.
// CHECK-NEXT:    etc.tensor "embedding.word_embeddings.weight" in embed [8, 4] split 0
// CHECK:         etc.workload prev P0T0
// CHECK:         etc.certificate device kept 192
// CHECK:         etc.placement [0, 1]
etc.migration @job PP4 to PP2 nodes [4] layers 4 types [param : bf16] policy paper stage placement {
  etc.tensor "embedding.word_embeddings.weight" in embed [8, 4] prev [6, 4] split 0
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
  etc.placement [0, 2]
}

// -----

// A single stage has no tied copy any more.
// CHECK-LABEL: etc.migration @tied.defragment
// CHECK-NOT:     etc.tensor "output_layer.weight"
// CHECK:         etc.placement [0]
etc.migration @tied PP2 to PP1 nodes [2] layers 4 types [param : bf16] stage placement {
  etc.tensor "embedding.word_embeddings.weight" in embed [8, 4] split 0
  etc.tensor "output_layer.weight" in head [8, 4] split 0 tied_to "embedding.word_embeddings.weight"
  etc.placement [1]
}

// -----

// expected-error @+1 {{has no etc.placement; run etc-defragment first}}
etc.migration @nowhere PP4 to PP2 nodes [4] layers 8 types [param : bf16] stage placement {
}

// -----

// expected-error @+1 {{etc-two-stage adds a migration '@job.defragment', which the module has already}}
etc.migration @job PP4 to PP2 nodes [4] layers 4 types [param : bf16] stage placement {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
  etc.placement [0, 2]
}
// expected-note @+1 {{rename or remove this one}}
etc.migration @job.defragment PP4 to PP2 nodes [4] layers 4 types [param : bf16] {
  etc.tensor "decoder.layers.{layer}.weight" in layer [4, 4] split 0
}
