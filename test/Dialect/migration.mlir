// RUN: etc-opt %s | etc-opt | FileCheck %s
// RUN: etc-opt %s --mlir-print-op-generic | etc-opt | FileCheck %s
// RUN: etc-opt %s --emit-bytecode | etc-opt --trust-bytecode | FileCheck %s

// CHECK-LABEL: etc.migration @least PP1 to PP1 nodes [1] layers 1 types [param : bf16] {
// CHECK-NEXT: }
etc.migration @least PP1 to PP1 nodes [1] layers 1 types [param : bf16] {
}

// Absent dimensions are 1, and a dimension of 1 is not printed.
// CHECK-LABEL: etc.migration @dimensions PP1TP2 to PP4DP2 nodes [8] layers 4 types [param : bf16] {
etc.migration @dimensions TP2 to PP4TP1DP2 nodes [8] layers 4 types [param : bf16] {
}

// CHECK-LABEL: etc.migration @devices PP2TP2 on [7, 6, 5, 4] to PP4 on [0, 2, 4, 6] nodes [8] layers 4
etc.migration @devices PP2TP2 on [7, 6, 5, 4] to PP4 on [0, 2, 4, 6] nodes [8] layers 4
    types [param : bf16] {
}

// CHECK-LABEL: etc.migration @status PP4 to PP2 nodes [2, 2] failed [3] draining [0, 1] layers 4
etc.migration @status PP4 to PP2 nodes [2, 2] failed [3] draining [0, 1] layers 4 types [param : bf16] {
}

// CHECK-LABEL: etc.migration @vocab PP4 to PP2 nodes [4] layers 4 vocab 50257 types [param : bf16] {
etc.migration @vocab PP4 to PP2 nodes [4] layers 4 vocab 50257 types [param : bf16] {
}

// CHECK-LABEL: etc.migration @types
// CHECK-SAME: types [param : bf16 from master, master : f32, exp_avg : f32, step : i64]
etc.migration @types PP4 to PP2 nodes [4] layers 4
    types [param : bf16 from master, master : f32, exp_avg : f32, step : i64] {
}

// CHECK-LABEL: etc.migration @policy PP4 to PP2 nodes [4] layers 4 types [param : bf16] policy paper {
etc.migration @policy PP4 to PP2 nodes [4] layers 4 types [param : bf16] policy paper {
}

// CHECK-LABEL: etc.migration @bytes
// CHECK-SAME: attributes {budget_bytes = 80000000000 : i64} {
etc.migration @bytes PP4 to PP2 nodes [4] layers 4 types [param : bf16]
    attributes {budget_bytes = 80000000000 : i64} {
}

// CHECK-LABEL: etc.migration @ratio
// CHECK-SAME: attributes {budget_ppm = 1050000 : i64} {
etc.migration @ratio PP4 to PP2 nodes [4] layers 4 types [param : bf16]
    attributes {budget_ppm = 1050000 : i64} {
}

// CHECK-LABEL: etc.migration @tensors
etc.migration @tensors PP2TP4 to PP1TP8 nodes [8] layers 12 types [param : bf16] {
  // CHECK-NEXT: etc.tensor "embedding.word_embeddings.weight" in embed [51200, 768] prev [50688, 768] split 0
  etc.tensor "embedding.word_embeddings.weight" in embed [51200, 768] prev [50688, 768] split 0
  // CHECK-NEXT: etc.tensor "decoder.layers.{layer}.self_attention.linear_proj.weight" in layer [768, 768] split 1
  etc.tensor "decoder.layers.{layer}.self_attention.linear_proj.weight" in layer [768, 768] split 1
  // CHECK-NEXT: etc.tensor "decoder.layers.{layer}.self_attention.linear_proj.bias" in layer [768]{{$}}
  etc.tensor "decoder.layers.{layer}.self_attention.linear_proj.bias" in layer [768]
  // CHECK-NEXT: etc.tensor "decoder.final_layernorm.weight" in final [768]{{$}}
  etc.tensor "decoder.final_layernorm.weight" in final [768]
  // CHECK-NEXT: etc.tensor "output_layer.weight" in head [51200, 768] prev [50688, 768] split 0
  // CHECK-SAME: tied_to "embedding.word_embeddings.weight"
  etc.tensor "output_layer.weight" in head [51200, 768] prev [50688, 768] split 0
      tied_to "embedding.word_embeddings.weight"
}
