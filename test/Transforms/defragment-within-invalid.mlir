// RUN: etc-opt %s --verify-diagnostics --pass-pipeline='builtin.module(etc.migration(etc-defragment{policy=joint within=node}))'

// expected-error @+1 {{within: 'node' is no place; use any, tp or pack}}
etc.migration @misspelt DP2 to DP2 nodes [2] layers 1 types [master : f32] stage sketch {
  etc.pair P0T0 replicas [0] from P0T0 replicas [0]
  etc.pair P0T0 replicas [1] from P0T0 replicas [1]
}
