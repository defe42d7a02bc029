// RUN: etc-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// expected-error @+1 {{expected parallel degrees like PP4TP2DP3, got 'PP4XP2'}}
"test.parallel"() {a = #etc.parallel<PP4XP2>} : () -> ()

// -----

// expected-error @+1 {{parallel degrees must be at least 1, got PP0}}
"test.parallel_zero"() {a = #etc.parallel<PP0>} : () -> ()

// -----

// expected-error @+1 {{a world of more than 1048576 ranks is not supported}}
"test.parallel_vast"() {a = #etc.parallel<PP1024TP1024DP2>} : () -> ()

// -----

// expected-error @+1 {{buckets need zero1 and a positive size, got 100}}
"test.parallel_buckets"() {a = #etc.parallel<PP1DP4 buckets 100>} : () -> ()

// -----

// expected-error @+1 {{fsdp 3 does not divide DP = 4}}
"test.parallel_shards"() {a = #etc.parallel<PP1DP4 fsdp 3>} : () -> ()

// -----

// expected-error @+1 {{fsdp stands beside PP, TP and DP alone}}
"test.parallel_shards_and_ranges"() {a = #etc.parallel<PP1DP4 zero1 fsdp 2>} : () -> ()

// -----

// expected-error @+1 {{expected a role like P0T1}}
"test.role"() {a = #etc.role<T1P0>} : () -> ()

// -----

// expected-error @+1 {{expected bf16, f16, f32, f64, i64 or i8, got 'i1'}}
"test.state"() {a = #etc.state<mask : i1>} : () -> ()

// -----

// expected-error @+1 {{expected rows of equal length}}
"test.matrix"() {a = #etc.matrix<[1, 2, 3], [4]>} : () -> ()

// -----

// expected-error @+1 {{expected a workload id like L0..3.a, embed, final.* or head}}
"test.part"() {a = #etc.workload<layer3>} : () -> ()

// -----

// expected-error @+1 {{expected a workload id like L0..3.a, embed, final.* or head}}
"test.layer"() {a = #etc.workload<L>} : () -> ()

// -----

// expected-error @+1 {{expected a workload id like L0..3.a, embed, final.* or head}}
"test.slice"() {a = #etc.workload<L0.A>} : () -> ()

// -----

// expected-error @+1 {{expected '*'}}
"test.star"() {a = #etc.workload<L0.>} : () -> ()

// -----

// expected-error @+1 {{expected ascending layers, got 3..1}}
"test.layers"() {a = #etc.workload<L3..1>} : () -> ()

// -----

// expected-error @+1 {{expected a workload id like L0..3.a, embed, final.* or head}}
"test.slices"() {a = #etc.workload<L0.b..a>} : () -> ()

// -----

// expected-error @+1 {{expected ascending positions, got [8:4]}}
"test.positions"() {a = #etc.workload<L0/x[8:4]>} : () -> ()

// -----

// expected-error @+1 {{expected ascending positions, got [4:4]}}
"test.no_positions"() {a = #etc.workload<L0/x[4:4]>} : () -> ()

// -----

// expected-error @+1 {{expected ascending positions, got [-1:4]}}
"test.negative_positions"() {a = #etc.workload<L0/x[-1:4]>} : () -> ()

// -----

// expected-error @+1 {{positions need a tensor}}
"test.positions_of_nothing"() {a = #etc.workload<L0[0:4]>} : () -> ()

// -----

// expected-error @+1 {{positions are the tensor's own and exclude slices}}
"test.positions_of_slice"() {a = #etc.workload<L0.a/x[0:4]>} : () -> ()

// -----

// expected-error @+1 {{positions are the tensor's own and exclude slices}}
"test.positions_of_star"() {a = #etc.workload<L0.*/x[0:4]>} : () -> ()

// -----

// expected-error @+1 {{an inventory is of DP ranks alone}}
"test.parallel"() {a = #etc.parallel<PP2DP2 inventory>} : () -> ()

// -----

// expected-error @+1 {{an inventory is of DP ranks alone}}
"test.parallel"() {a = #etc.parallel<DP2 zero1 buckets 8 inventory>} : () -> ()

// -----

// expected-error @+1 {{an inventory is of DP ranks alone}}
"test.parallel"() {a = #etc.parallel<DP2 pp_before_dp inventory>} : () -> ()

// -----

// expected-error @+1 {{an inventory is of DP ranks alone}}
"test.parallel"() {a = #etc.parallel<DP2 mtp_stage 0 inventory>} : () -> ()
