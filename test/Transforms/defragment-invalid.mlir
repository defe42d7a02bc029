// RUN: etc-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(etc.migration(etc-defragment{policy=none}))'

// expected-error @+1 {{current rank 1 finds no device: 2 are needed; add nodes to the cluster or lower curr}}
etc.migration @no_room DP2 to DP2 nodes [2] failed [0] layers 1 types [master : f32] stage sketch {
  etc.pair P0T0 replicas [0] from P0T0 replicas [1]
  etc.pair P0T0 replicas [1] from none
}
