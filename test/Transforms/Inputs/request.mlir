etc.migration @job PP2 to PP1TP2 nodes [2] layers 2 types [master : f32] {
  etc.tensor "decoder.layers.{layer}.linear.weight" in layer [4, 2] split 0
}
