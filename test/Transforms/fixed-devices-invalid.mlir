// RUN: etc-opt %s --verify-diagnostics --pass-pipeline='builtin.module(etc-paper-plan)'

// The paper's method chooses the devices itself.
// expected-error @+1 {{fixes the devices of curr, which the paper's method chooses itself; leave them out, or use policy best}}
etc.migration @fixed PP2 to PP2 on [1, 0] nodes [2] layers 2 types [param : bf16] {
  etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [4, 2] split 0
}
