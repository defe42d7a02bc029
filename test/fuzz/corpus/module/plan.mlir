module {
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
    etc.placement [0, 1, 2, 3]
    etc.program @"P0T0D0 <- P0T0" P0T0D0 from P0T0 slabs 128, 64 peak 576 safe 800 (%self = [0], %p1 = [1], %p2 = [2], %p3 = [3]) {
      etc.round 0 {
        etc.send [embed.a] [master] to %p2
        etc.send [embed.b] [master] to %p3
        etc.release [embed] [master]
      }
      etc.round 1 {
        etc.refer [embed.a] [param]
        etc.send [embed.b] [param] to %p1
        etc.send [embed.a] [param] to %p2
        etc.send [embed.b] [param] to %p3
        etc.release [embed] [param]
      }
      etc.round 2 {
        etc.refer [L0.a] [param]
        etc.send [L0.b] [param] to %p1
        etc.send [L0.a] [param] to %p2
        etc.send [L0.b] [param] to %p3
        etc.release [L0] [param]
      }
      etc.round 3 {
        etc.recv [L1.a] [param] from %p1
      }
      etc.round 4 {
        etc.refer [L0.a] [master]
        etc.send [L0.b] [master] to %p1
        etc.release [L0] [master]
      }
      etc.round 5 {
        etc.recv [L1.a] [master] from %p1
      }
    }
    etc.program @"P0T0D1 <- none" P0T0D1 from none slabs 0, 64 peak 224 safe 224 (%self = [2], %p1 = [0], %p2 = [1]) {
      etc.round 0 {
        etc.recv [embed.a] [master] from %p1
      }
      etc.round 1 {
        etc.recv [embed.a] [param] from %p1
      }
      etc.round 2 {
        etc.recv [L0.a] [param] from %p1
      }
      etc.round 3 {
        etc.recv [L1.a] [param] from %p2
      }
    }
    etc.program @"P0T1D0 <- P1T0" P0T1D0 from P1T0 slabs 96, 64 peak 512 safe 576 (%self = [1], %p1 = [0], %p2 = [2], %p3 = [3]) {
      etc.round 1 {
        etc.recv [embed.b] [param] from %p1
      }
      etc.round 2 {
        etc.recv [L0.b] [param] from %p1
      }
      etc.round 3 {
        etc.refer [L1.b] [param]
        etc.send [L1.a] [param] to %p1
        etc.send [L1.a] [param] to %p2
        etc.send [L1.b] [param] to %p3
        etc.release [L1] [param]
      }
      etc.round 4 {
        etc.recv [L0.b] [master] from %p1
      }
      etc.round 5 {
        etc.refer [L1.b] [master]
        etc.send [L1.a] [master] to %p1
        etc.release [L1] [master]
      }
    }
    etc.program @"P0T1D1 <- none" P0T1D1 from none slabs 0, 64 peak 224 safe 224 (%self = [3], %p1 = [0], %p2 = [1]) {
      etc.round 0 {
        etc.recv [embed.b] [master] from %p1
      }
      etc.round 1 {
        etc.recv [embed.b] [param] from %p1
      }
      etc.round 2 {
        etc.recv [L0.b] [param] from %p1
      }
      etc.round 3 {
        etc.recv [L1.b] [param] from %p2
      }
    }
  }
}
