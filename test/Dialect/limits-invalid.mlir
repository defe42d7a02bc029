// RUN: etc-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected at most 1048576 devices in all nodes, got more}}
etc.migration @nodes PP1 to PP1 nodes [9223372036854775807] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{expected at most 1048576 devices in all nodes, got more}}
etc.migration @sum PP1 to PP1 nodes [1048576, 9223372036854775807] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{expected at most 65536 layers, got 9223372036854775807}}
etc.migration @layers PP1 to PP1 nodes [1] layers 9223372036854775807 types [param : bf16] {
}

// -----

// expected-error @+1 {{expected at most 268435456 experts, got 9223372036854775807}}
etc.migration @experts PP1 to PP1 nodes [1] layers 4 experts 9223372036854775807 types [param : bf16] {
}

// -----

// expected-error @+1 {{expected parallel degrees like PP4TP2DP3, got 'PP18446744073709551615'}}
etc.migration @degree PP18446744073709551615 to PP1 nodes [1] layers 4 types [param : bf16] {
}

// -----

// expected-error @+1 {{expected buckets of at most 281474976710656 elements, got 9223372036854775807}}
etc.migration @buckets PP1DP2 zero1 buckets 9223372036854775807 to PP1 nodes [2] layers 4 types [param : bf16] {
}

// -----

etc.migration @elements PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected at most 2^56 elements, got more}}
  etc.tensor "w" in embed [4294967296, 4294967296, 4294967296, 4294967296]
}

// -----

etc.migration @padding PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected a shape of positive extents}}
  etc.tensor "w" in embed [4] prev [-4]
}

// -----

etc.migration @tensors PP1 to PP1 nodes [1] layers 65536 experts 65536 types [param : bf16] {
  etc.tensor "a" in embed [4]
  // expected-error @+1 {{expected at most 131072 tensors of all layers and experts, got more}}
  etc.tensor "w.{layer}.{expert}" in layer [4]
}

// -----

// 32 tensors of 2^55 elements, in 2 bytes.
// expected-error @+1 {{expected at most 2^61 bytes of state on all ranks of a side, got more; use a smaller model or fewer ranks}}
etc.migration @sum_of_layers PP1 to PP1 nodes [1] layers 33 types [param : bf16] {
  etc.tensor "w.{layer}" in layer [134217728, 268435456]
}

// -----

// Replicas count.
// expected-error @+1 {{expected at most 2^61 bytes of state on all ranks of a side, got more; use a smaller model or fewer ranks}}
etc.migration @sum_of_ranks DP64 to PP1 nodes [64] layers 1 types [param : bf16] {
  etc.tensor "w.{layer}" in layer [134217728, 268435456]
}
