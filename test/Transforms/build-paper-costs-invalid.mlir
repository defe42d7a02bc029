// RUN: etc-opt %s --etc-build-paper-costs --split-input-file --verify-diagnostics

// expected-error @+1 {{has 1025 roles (PP x TP) on a side; the paper's method is for at most 1024, policy best for more}}
etc.migration @large PP1025 to PP1 nodes [1025] layers 1025 types [param : bf16] stage workloads {
}

// -----

// expected-error @+1 {{the paper's method is defined for PP, TP and DP, even stages and no distributed optimizer; use policy best for anything else}}
etc.migration @experts PP2DP2EP2 to PP2DP2 nodes [4] layers 4 experts 2 types [param : bf16] stage workloads {
}
