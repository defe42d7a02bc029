// RUN: etc-opt %s --split-input-file --verify-diagnostics

etc.migration @unmarked PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected '{layer}' in the name of a tensor in a layer, and only there}}
  etc.tensor "mlp.linear_fc1.weight" in layer [8, 8]
}

// -----

etc.migration @marked PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected '{layer}' in the name of a tensor in a layer, and only there}}
  etc.tensor "decoder.layers.{layer}.weight" in final [8, 8]
}

// -----

etc.migration @extent PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected a shape of positive extents}}
  etc.tensor "weight" in final [8, 0]
}

// -----

etc.migration @shape PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  // expected-error @+1 {{expected a shape of positive extents}}
  etc.tensor "weight" in final []
}

// -----

etc.migration @split PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  // expected-error @+1 {{splits axis 2 of a tensor with 2 axes}}
  etc.tensor "weight" in final [8, 8] split 2
}

// -----

etc.migration @negative_split PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  // expected-error @+1 {{attribute 'split' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  etc.tensor "weight" in final [8, 8] split -1
}

// -----

etc.migration @rank PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  // expected-error @+1 {{prev shape may differ along axis 0 only}}
  etc.tensor "weight" in embed [16, 8] prev [8] split 0
}

// -----

etc.migration @axis PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  // expected-error @+1 {{prev shape may differ along axis 0 only}}
  etc.tensor "weight" in embed [16, 8] prev [16, 4] split 0
}

// -----

etc.migration @not_split PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  // expected-error @+1 {{prev shape may differ only along the axis that is split}}
  etc.tensor "weight" in embed [16, 8] prev [8, 8] split 1
}

// -----

etc.migration @twice PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  // expected-note @+1 {{first declared here}}
  etc.tensor "weight" in embed [16, 8]
  // expected-error @+1 {{is declared twice}}
  etc.tensor "weight" in head [16, 8]
}

// -----

etc.migration @tied PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  // expected-error @+1 {{is tied to 'twin', which is not declared}}
  etc.tensor "weight" in head [16, 8] tied_to "twin"
}

// -----

etc.migration @chain PP2 to PP2 nodes [2] layers 4 types [param : bf16] {
  etc.tensor "words" in embed [16, 8]
  // expected-note @+1 {{declared here}}
  etc.tensor "copy" in head [16, 8] tied_to "words"
  // expected-error @+1 {{is tied to 'copy', which is a tied copy itself}}
  etc.tensor "weight" in head [16, 8] tied_to "copy"
}

// -----

etc.migration @tied_shape PP2 to PP2 nodes [2] layers 4 types [param : bf16] {
  // expected-note @+1 {{declared here}}
  etc.tensor "words" in embed [16, 8] split 0
  // expected-error @+1 {{is tied to 'words', which has another shape}}
  etc.tensor "weight" in head [16, 4] split 0 tied_to "words"
}

// -----

// Where only one side has the copy, the shape there counts.
etc.migration @tied_one_side PP1 to PP2 nodes [2] layers 4 types [param : bf16] {
  etc.tensor "words" in embed [16, 8] prev [12, 8] split 0
  etc.tensor "weight" in head [16, 8] split 0 tied_to "words"
}

// -----

etc.migration @tied_split PP2 to PP2 nodes [2] layers 4 types [param : bf16] {
  // expected-note @+1 {{declared here}}
  etc.tensor "words" in embed [16, 8] split 0
  // expected-error @+1 {{is tied to 'words', which has another split axis}}
  etc.tensor "weight" in head [16, 8] tied_to "words"
}

// -----

etc.migration @tied_layers PP2 to PP2 nodes [2] layers 4 types [param : bf16] {
  // expected-note @+1 {{declared here}}
  etc.tensor "words" in embed [16, 8]
  // expected-error @+1 {{is tied to 'words', which has another range of layers}}
  etc.tensor "weight.{layer}" in layer [16, 8] tied_to "words"
}

// -----

etc.migration @tied_types PP2 to PP2 nodes [2] layers 4 types [param : bf16, master : f32] {
  // expected-note @+1 {{declared here}}
  etc.tensor "words" in embed [16, 8] types [master]
  // expected-error @+1 {{is tied to 'words', which has other types}}
  etc.tensor "weight" in head [16, 8] tied_to "words"
}

// -----

etc.migration @no_types PP1 to PP1 nodes [1] layers 4 types [param : bf16] {
  // expected-error @+1 {{'etc.tensor' op expected at least one type}}
  etc.tensor "weight" in head [16, 8] types []
}

// -----

// Without a list it has all types, this one among them.
etc.migration @twice_a_type PP1 to PP1 nodes [1] layers 4 types [param : bf16, master : f32] {
  // expected-note @+1 {{first declared here}}
  etc.tensor "weight" in head [16, 8]
  // expected-error @+1 {{is declared twice}}
  etc.tensor "weight" in head [16, 8] types [master]
}

// -----

// expected-error @+1 {{expects parent op 'etc.migration'}}
etc.tensor "weight" in embed [16, 8]
