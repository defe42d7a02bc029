//===- EtcPlanningOps.td - Workloads to placement ----------*- tablegen -*-===//

#ifndef ETC_DIALECT_PLANNING_OPS_TD
#define ETC_DIALECT_PLANNING_OPS_TD

include "dialect/EtcOpBase.td"

def Etc_WorkloadOp : Etc_StageOp<"workload"> {
  let summary = "what every rank of a role holds on one side";
  let description = [{
    In the types that are listed, or in all. Types that are laid out differently have ops of their own. With the
    distributed optimizer a role without replica names what all replicas hold, a role with one its own range.

    Example:

    ```mlir
    etc.workload prev P0T1 [embed.b, embed.*, L0..3.b, L0..3.*]
    etc.workload curr P0T0 [embed, L0] [param]
    etc.workload curr P0T0D1 [L0/mlp.linear_fc1.weight[0:512]] [master]
    ```
  }];
  let arguments = (ins Etc_Side:$side, Etc_RoleAttr:$role, Etc_WorkloadArrayAttr:$wid,
                       OptionalAttr<StrArrayAttr>:$wt);
  let assemblyFormat = "$side custom<Role>($role) custom<Workloads>($wid) custom<OptionalTypes>($wt) attr-dict";
  let hasVerifier = 1;
}

def Etc_CostMatrixOp : Etc_StageOp<"cost_matrix"> {
  let summary = "what a previous role lacks of a current one";
  let description = [{
    Row i is current role i, column j previous role j (`P0T0, P0T1, ..., P1T0, ...`): `c_ij = |curr_i| - |curr_i and
    prev_j|`. In `units` it is the paper's matrix, one unit being a layer x slice; in `bytes` every tensor counts
    exactly, in every selected type that moves; a derived type costs nothing. Data-parallel replicas are pooled: a row
    stands for DP' ranks, a column for DP. Ranges of a distributed optimizer tell replicas apart and are not counted
    here, where both sides have them; `etc.overlap` says what they share.

    Three more are the paper's own: `pp` (PP' x PP, in layers), `tp` (TP' x TP, in slices), and `merged`, which joins
    the two by its rule of coefficients, times the largest entry of `tp`.

    Example:

    ```mlir
    etc.cost_matrix units #etc.matrix<[4, 4, 8, 8], [8, 8, 4, 4]>
    ```
  }];
  let arguments = (ins Etc_CostUnit:$unit, Etc_MatrixAttr:$costs);
  let assemblyFormat = "$unit qualified($costs) attr-dict";
  let hasVerifier = 1;
}

def Etc_PairOp : Etc_StageOp<"pair"> {
  let summary = "migration operators <curr, prev> of one pair of roles";
  let description = [{
    Replica `curr[i]` of the current role is taken by the device that was replica `prev[i]` of the previous role. A
    replica `from none` goes to a device that had no role: the one that is listed with `on`, or any.

    Example:

    ```mlir
    etc.pair P0T0 replicas [0, 1] from P1T0 replicas [2, 3]
    etc.pair P0T0 replicas [2] from none on [9]
    ```
  }];
  let arguments = (ins Etc_RoleAttr:$curr, DenseI64ArrayAttr:$curr_replicas,
                       OptionalAttr<Etc_RoleAttr>:$prev,
                       OptionalAttr<DenseI64ArrayAttr>:$prev_replicas,
                       OptionalAttr<DenseI64ArrayAttr>:$devices);
  let assemblyFormat = [{
    custom<Role>($curr) `replicas` $curr_replicas `from` custom<OptionalRole>($prev)
    (`replicas` $prev_replicas^)? (`on` $devices^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Etc_OverlapOp : Etc_StageOp<"overlap"> {
  let summary = "what previous roles hold of a current one beyond their pools";
  let description = [{
    With a distributed optimizer on a side, its optimizer states are flat ranges that few roles of the other share: this
    is the sparse part of the costs. A pair of roles shares what the row of their pools in `etc.cost_matrix bytes` does
    not count as lacking, and these bytes beside it. Roles that are not listed share no range.

    Example:

    ```mlir
    etc.overlap P0T0D1 with [P0T0D0, P1T0D0] bytes [4096, 512]
    ```
  }];
  let arguments = (ins Etc_RoleAttr:$curr, Etc_RoleArrayAttr:$prev, DenseI64ArrayAttr:$bytes);
  let assemblyFormat = "custom<Role>($curr) `with` custom<Roles>($prev) `bytes` $bytes attr-dict";
  let hasVerifier = 1;
}

def Etc_CertificateOp : Etc_StageOp<"certificate"> {
  let summary = "the proof that no assignment keeps more bytes";
  let description = [{
    A dual solution of an assignment problem whose rows are the current roles. At the `device` level its columns are the
    previous roles, and a role on a device of one is worth the bytes that both hold. At the `node` level its columns are
    the classes of nodes that hold the same roles, by their first node, and a role on one is worth the bytes of it that
    the node holds. `members` are the devices of each column that may take a role.

    With `u >= 0` for every row, `v >= 0` for every column and `u_i + v_j >= worth_ij`, no assignment keeps more than
    `sum replicas * u_i + sum members_j * v_j` bytes, which equals `kept`. Bytes are those of the types that move.

    Example:

    ```mlir
    etc.certificate device kept 128 u [64, 64] v [0, 0] members [1, 1]
    ```
  }];
  let arguments = (ins Etc_Level:$level, ConfinedAttr<I64Attr, [IntNonNegative]>:$kept,
                       DenseI64ArrayAttr:$u, DenseI64ArrayAttr:$v, DenseI64ArrayAttr:$members);
  let assemblyFormat = "$level `kept` $kept `u` $u `v` $v `members` $members attr-dict";
  let hasVerifier = 1;
}

def Etc_PlacementOp : Etc_StageOp<"placement"> {
  let summary = "the device of every current rank";
  let description = [{
    Entry r is the physical device that current virtual rank r runs on.

    Example:

    ```mlir
    etc.placement [0, 2]
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$devices);
  let assemblyFormat = "$devices attr-dict";
  let hasVerifier = 1;
}

def Etc_TimeBoundOp : Etc_StageOp<"time_bound"> {
  let summary = "a time that no routing is below, and its witness";
  let description = [{
    Bytes that have to cross the border of a set of devices, and the rate at which they can: the transfers take at least
    `bytes` / `rate` seconds, whatever the sources, relays and rounds. Bytes cross `into` the devices where a device of
    the set needs what none of it held; they cross `out_of` them where only devices of the set held what others need.
    What leaves a node of the set for one where nobody held it counts as well. Each counts once, and a tied copy and its
    twin are the same bytes. They can cross over the links of the set's devices whose nodes have further participants,
    and over the set's NICs where other nodes have participants, each NIC once; or, at the other end, over the links of
    the further participants, and over the NICs of all that have a device of the set on another node. Participants are
    the devices that live and have a role on either side. `of_pause` counts the bytes that are not deferred, and bounds
    the pause.

    `inner` lists some of the devices, whose own links count as well where their nodes have other participants; at the
    other end, all links of their nodes do. Bytes that inner devices lack then count once for each of these, even if
    another of the devices held them; other bytes that cross `into` the devices count once. What crosses `out_of` them
    counts once, with what only inner devices held and another device needs.

    In place of devices, a bound may have links and NICs that take a toll of each byte that they send (`links_out`,
    `nics_out`) or receive. A byte counts once for each toll that it has to pay at least (`include/etc/Tolls.h`). A NIC is
    named by the first device of its node that has it. At most 64 devices may take part then.

    Examples:

    ```mlir
    etc.time_bound into [4, 5, 6, 7] bytes 96360000000 rate 200000000000
    etc.time_bound into [4, 5, 6, 7] inner [4, 5] bytes 96720000000 rate 210000000000
    etc.time_bound links_in [1, 2] nics_out [4, 6] bytes 2622000 rate 20000000
    ```
  }];
  let arguments = (ins UnitAttr:$of_pause, OptionalAttr<Etc_Direction>:$direction,
                       DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$devices,
                       OptionalAttr<DenseI64ArrayAttr>:$inner, OptionalAttr<DenseI64ArrayAttr>:$links_out,
                       OptionalAttr<DenseI64ArrayAttr>:$links_in, OptionalAttr<DenseI64ArrayAttr>:$nics_out,
                       OptionalAttr<DenseI64ArrayAttr>:$nics_in,
                       ConfinedAttr<I64Attr, [IntPositive]>:$bytes, ConfinedAttr<I64Attr, [IntPositive]>:$rate);
  let assemblyFormat = [{
    (`of_pause` $of_pause^)? ($direction^ $devices)? (`inner` $inner^)? (`links_out` $links_out^)?
    (`links_in` $links_in^)? (`nics_out` $nics_out^)? (`nics_in` $nics_in^)? `bytes` $bytes `rate` $rate attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether links or NICs take tolls.
    bool hasTolls() { return getLinksOut() || getLinksIn() || getNicsOut() || getNicsIn(); }
  }];
}

def Etc_RoleBoundOp : Etc_StageOp<"role_bound"> {
  let summary = "a time that no assignment of roles is below, and its proof";
  let description = [{
    Whichever roles the request lets devices take, and whatever the sources, relays and rounds, the transfers take at
    least `bytes` / `rate` seconds. Cells are nodes or single devices; those that hold the same previous roles are a
    column. Columns of nodes are numbered by their first node. Columns of devices are the previous roles and, last,
    devices without one. `inside` lists the cells that the bound is about, of a column all that may take a role:

    - `each`: each of them receives what its roles lack; `rate` is that of their NICs or, of devices, of their links
      and NICs.
    - `others`: what none of them holds leaves the other nodes, each byte once; `rate` is that of the NICs of these.
    - `fewest`: the most nodes that roles can be on, with `place = pack` as few as hold all groups, do not hold all
      bytes; `rate` is that of their NICs. It takes no duals.

    A content is all bytes, in the types that move, that the same roles need, a tied copy and its twin together. A role
    counts a content by the bytes / the ranks that can share one arrival, rounded down: those of one cell, or for
    `others` of all inside. With `u >= 0` for each role and `v >= 0` for each column, `u + v` is at least what a
    role finds on a column; outside of `inside` it finds everything. Then

        bytes = sum replicas * (what the role counts - u) - sum devices that may take a role * v

    have to move, whichever roles these devices take.

    Example:

    ```mlir
    etc.role_bound node each [1] u [96, 0] v [0, 0] bytes 192 rate 400
    ```
  }];
  let arguments = (ins Etc_Level:$level, Etc_Witness:$witness, DenseI64ArrayAttr:$inside, DenseI64ArrayAttr:$u,
                       DenseI64ArrayAttr:$v, ConfinedAttr<I64Attr, [IntPositive]>:$bytes,
                       ConfinedAttr<I64Attr, [IntPositive]>:$rate);
  let assemblyFormat = "$level $witness $inside `u` $u `v` $v `bytes` $bytes `rate` $rate attr-dict";
  let hasVerifier = 1;
}

#endif // ETC_DIALECT_PLANNING_OPS_TD
