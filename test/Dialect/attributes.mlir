// RUN: etc-opt %s --allow-unregistered-dialect | etc-opt --allow-unregistered-dialect | FileCheck %s
// RUN: etc-opt %s --allow-unregistered-dialect --mlir-print-op-generic | etc-opt --allow-unregistered-dialect | FileCheck %s
// RUN: etc-opt %s --allow-unregistered-dialect --emit-bytecode | etc-opt --trust-bytecode --allow-unregistered-dialect | FileCheck %s

// The attributes and the type of the dialect, by themselves.

// CHECK: "test.parallel"() {a = #etc.parallel<PP1>, b = #etc.parallel<PP1TP8>, c = #etc.parallel<PP4TP2DP3>}
"test.parallel"() {a = #etc.parallel<PP1>, b = #etc.parallel<TP8>, c = #etc.parallel<PP4TP2DP3>} : () -> ()

// CHECK: "test.buckets"() {a = #etc.parallel<PP1DP4 zero1 buckets 100>}
"test.buckets"() {a = #etc.parallel<PP1DP4 zero1 buckets 100>} : () -> ()

// CHECK: "test.shards"() {a = #etc.parallel<PP2TP2DP8 fsdp 4>}
"test.shards"() {a = #etc.parallel<PP2TP2DP8 fsdp 4>} : () -> ()

// CHECK: "test.refined"() {a = #etc.parallel<PP2TP2DP4CP2EP4ETP1VPP2 stages [5, 4, 4, 5] mtp_stage 1 pp_before_dp zero1>}
"test.refined"() {a = #etc.parallel<PP2TP2DP4CP2EP4ETP1VPP2 stages [5, 4, 4, 5] mtp_stage 1 pp_before_dp zero1>} : () -> ()

// An inventory is a number of devices, whatever they hold.
// CHECK: "test.inventory"() {a = #etc.parallel<DP7 inventory>}
"test.inventory"() {a = #etc.parallel<DP7 inventory>} : () -> ()

// CHECK: "test.role"() {a = #etc.role<P0T0>, b = #etc.role<P12T7>, c = #etc.role<P0T1D3>}
"test.role"() {a = #etc.role<P0T0>, b = #etc.role<P12T7>, c = #etc.role<P0T1D3>} : () -> ()

// CHECK: "test.state"() {a = #etc.state<param : bf16 from master>, b = #etc.state<step : i64>}
"test.state"() {a = #etc.state<param : bf16 from master>, b = #etc.state<step : i64>} : () -> ()

// CHECK: "test.matrix"() {a = #etc.matrix<[1]>, b = #etc.matrix<[1, -2], [3, 4], [5, 6]>}
"test.matrix"() {a = #etc.matrix<[1]>, b = #etc.matrix<[1, -2], [3, 4], [5, 6]>} : () -> ()

// CHECK: "test.workload"() {a = #etc.workload<L0..3.a>, b = #etc.workload<final.*>, c = #etc.workload<embed/x.y[8:16]>}
"test.workload"() {a = #etc.workload<L0..3.a>, b = #etc.workload<final.*>, c = #etc.workload<embed/x.y[8:16]>}
    : () -> ()

// CHECK: "test.device"() : () -> !etc.device
%0 = "test.device"() : () -> !etc.device
