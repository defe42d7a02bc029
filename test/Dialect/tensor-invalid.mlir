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

// expected-error @+1 {{expects parent op 'etc.migration'}}
etc.tensor "weight" in embed [16, 8]
