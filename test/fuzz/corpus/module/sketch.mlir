etc.migration @custom PP2 to PP1TP2DP2 zero1 nodes [2, 2] place pack layers 2 types [param : bf16 from master, master : f32] {
  etc.tensor "embedding" in embed [8, 4] split 0 types [param]
  etc.tensor "embedding" in embed [8, 4] split 0 types [master] flat
  etc.tensor "layers.{layer}.weight" in layer [8, 4] split 1 types [param]
  etc.tensor "layers.{layer}.weight" in layer [8, 4] split 1 types [master] flat
  etc.workload prev P0T0 [embed, L0] [param]
  etc.workload prev P0T0 [embed, L0] [master]
  etc.workload prev P1T0 [L1] [param]
  etc.workload prev P1T0 [L1] [master]
  etc.workload curr P0T0 [embed.a, L0..1.a] [param]
  etc.workload curr P0T0D0 [L0..1.a] [master]
  etc.workload curr P0T0D1 [embed.a] [master]
  etc.workload curr P0T1 [embed.b, L0..1.b] [param]
  etc.workload curr P0T1D0 [L0..1.b] [master]
  etc.workload curr P0T1D1 [embed.b] [master]
  etc.cost_matrix units #etc.matrix<[1, 1], [1, 1]>
  etc.cost_matrix bytes #etc.matrix<[32, 64], [32, 64]>
  etc.overlap P0T0D0 with [P0T0, P1T0] bytes [64, 64]
  etc.overlap P0T0D1 with [P0T0] bytes [64]
  etc.overlap P0T1D0 with [P0T0, P1T0] bytes [64, 64]
  etc.overlap P0T1D1 with [P0T0] bytes [64]
  etc.pair P0T0D0 replicas [0] from P0T0 replicas [0]
  etc.pair P0T0D1 replicas [0] from none on [2]
  etc.pair P0T1D0 replicas [0] from P1T0 replicas [0]
  etc.pair P0T1D1 replicas [0] from none on [3]
  etc.certificate device kept 224 u [0, 0, 0, 0] v [128, 96] members [1, 1]
  etc.certificate node kept 448 u [64, 0, 64, 0] v [160, 0] members [2, 2]
}

