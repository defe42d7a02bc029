//===- Passes.td - From a request to a proven plan ---------*- tablegen -*-===//

#ifndef ETC_TRANSFORMS_PASSES_TD
#define ETC_TRANSFORMS_PASSES_TD

include "etc/Verify/MigrationPass.td"

def BuildWorkloadsPass : Etc_Pass<"etc-build-workloads"> {
  let summary = "Write down what every virtual rank holds, before and after";
  let description = [{
    Adds an `etc.workload` for every role (stage x tensor rank) of both sides (paper, sections III-B and III-C). Stages
    hold layers evenly, unless the request says how many each holds; the first also holds the embeddings, the last the
    final norm and the head.

    ```mlir
    etc.workload prev P0T0 [embed, L0..3]
    ```
  }];
  let statistics = [Statistic<"roles", "roles", "Number of roles on both sides">];
}

def BuildCostMatrixPass : Etc_Pass<"etc-build-cost-matrix"> {
  let summary = "Count what a previous role lacks of a current one";
  let description = [{
    Adds the cost matrix twice: in the paper's units (layers x slices), and in exact bytes of every tensor and type.
    `c_ij = |curr_i| - |curr_i and prev_j|`. Tied tensors are the same bytes. Planning uses exact bytes.
  }];
}

def SolveAssignmentPass : Etc_Pass<"etc-solve-assignment"> {
  let summary = "Decide which previous role each current role comes from";
  let description = [{
    Solves the assignment over classes of equal roles, replicas pooled, so that devices keep the most bytes. Adds an
    `etc.pair` for every pair of roles that is used (the migration sketch), and two `etc.certificate`s: what no
    assignment at all can keep more of, on devices and on nodes. docs/assignment.md has the model. Where the migration
    states resources, a time that no assignment is below is written as `etc.role_bound`; docs/placement.md has its model.
  }];
  let statistics = [Statistic<"edges", "edges", "Pairs of roles that share state">];
}

def DefragmentPass : Etc_Pass<"etc-defragment"> {
  let summary = "Give every current rank its physical device";
  let description = [{
    The only pass that fixes devices. Where the request fixes them, they are taken.

    `joint` decides devices and pairs together, with the topology in the objective: the least bytes between nodes first,
    the least in all second. `place` of the migration says where roles may go; docs/placement.md has the model. The pairs
    become those of the placement. Needs the costs. Roles can be put `within` a narrower value of `place` (a wider one
    changes nothing), and `lists-narrower` marks the migration `etc.narrower` where they would be elsewhere then. With
    `share-nodes`, ranks then change nodes where fewer bytes enter these, each counted once, and the migration is marked
    `etc.shared_nodes`. With `reach-nics`, ranks that keep nothing where they are go to devices with other NICs where
    the migration's slowest cut becomes faster, and it is marked `etc.more_nics`. Whether a plan gains by either is not
    known yet.

    `none` follows the pairs. A rank that is paired takes the device of its previous rank; one that is not takes the
    device that its pair lists, or else the lowest that is alive, stays, and is still free.

    `paper` does so, then remaps ranks as the paper's Algorithm 2 does, repaired. Occupancy, where the world shrinks: the
    lowest idle device takes over from the highest occupied one, until the two meet. Efficiency, where a tensor-parallel
    group would be on more nodes than it has to: current rank r goes to the r-th device that may take a role.
  }];
  let options = [
    Option<"policy", "policy", "::etc::DefragmentPolicy", "::etc::DefragmentPolicy::Joint",
           "What decides", [{::llvm::cl::values(
               clEnumValN(::etc::DefragmentPolicy::Joint, "joint", "devices and pairs together"),
               clEnumValN(::etc::DefragmentPolicy::Paper, "paper", "the pairs, then Algorithm 2"),
               clEnumValN(::etc::DefragmentPolicy::None, "none", "the pairs"))}]>,
    Option<"totalFirst", "total-first", "bool", "false",
           "Under joint, the least in all first, the least between nodes second">,
    Option<"within", "within", "std::string", "\"\"",
           "Under joint, where roles are put, of where `place` allows them">,
    Option<"listsNarrower", "lists-narrower", "bool", "false",
           "Under joint, what roles within narrower values of `place` come to">,
    Option<"shareNodes", "share-nodes", "bool", "true",
           "Under joint, ranks that lack the same bytes come together on nodes">,
    Option<"reachNics", "reach-nics", "bool", "false",
           "Under joint, ranks reach more NICs of nodes that are not full">];
  let statistics = [Statistic<"moves", "moves", "Number of ranks that Algorithm 2 moves to another device">];
}

def BuildDemandsPass : Etc_Pass<"etc-build-demands"> {
  let summary = "Write down what devices lack, and which previous roles have it";
  let description = [{
    Devices with the same current and the same previous role keep and lack the same. What they lack is cut where the set of
    previous roles that hold it changes, and each part is one `etc.demand`. A derived type is no part of it: it is cast
    from its source type, which is; nor are rows that padding adds. Fails where state has no living holder, and names it.

    ```mlir
    etc.demand [L4..7] [master] on [0] held_by [P1T0]
    ```
  }];
  let statistics = [Statistic<"demands", "demands", "Fragments that devices lack">];
}

def CoalescePass : Pass<"etc-coalesce", "::mlir::ModuleOp"> {
  let summary = "Make one migration of a chain";
  let description = [{
    Takes a chain of migrations that have their demands, each beginning on the devices where the one before it ends, and
    after them the migration from the beginning of the first to the end of the last, as the request has it. That one
    takes the placement that the chain ends with, and its own demands; the others are erased. What a device would have
    received only to pass it on goes straight to its final device, and a device that held at the beginning what it would
    have dropped keeps it. None of the chain may have begun. Left out, each migration becomes a plan of its own.
  }];
  let dependentDialects = ["::etc::EtcDialect"];
  let statistics = [
    Statistic<"oneByOne", "one-by-one", "Bytes that devices lack in the migrations of the chain">,
    Statistic<"composed", "composed", "Bytes that they lack in the one that it becomes">];
}

def RoutePass : Etc_Pass<"etc-route"> {
  let summary = "Choose who sends what devices lack";
  let description = [{
    Turns every `etc.demand` into `etc.transfer`s. Sources: the same node first, then a device that sends to the
    destination anyway, then all holders in turn; where the busiest port sends, others that hold the same then send in its
    place, parts of fragments if need be, until it sends the least that it can. Where this takes a quarter or more off the
    bytes between nodes or off the busiest port, devices that have received state are sources, too (`hop`). With
    `by-time`, routes are taken instead where they make the slowest link or NIC much faster at the migration's
    `resources` (lib/Optimize/Routing): tensors are cut, what enters or leaves a node is striped over its NICs, and the migration is
    marked `etc.by_time`, since what rounds add is not known yet. In a migration of more than 100 000 sends and receives of
    tensors, in which more than 256 sets of devices hold or lack the same bytes, routes are left out if they could save less
    than `least-gain`, and it is marked `etc.quick`. Where the migration states resources, the slowest cut, or tolls that take longer, are written as `etc.time_bound`. Under `policy
    paper` holders only take turns. Left out, the first holder that is alive sends.

    ```mlir
    etc.transfer [L4..7] [master] from [1] to [0]
    ```
  }];
  let options = [Option<"byTime", "by-time", "bool", "false",
                        "Least time of the slowest link or NIC first">,
                 Option<"leastGain", "least-gain", "double", "0",
                        "Seconds that routes have to save where many devices differ">,
                 Option<"findsTolls", "tolls", "bool", "true",
                        "Bounds may have tolls in place of cuts">,
                 Option<"fasterThan", "faster-than", "double", "0",
                        "Seconds: bounds of what takes as long have no tolls (0: all may)">];
  let statistics = [Statistic<"parts", "parts", "Fragments, as they are cut">,
                    Statistic<"routed", "routed", "Migrations whose routes are faster than what bytes decide">];
}

def ScheduleChunksPass : Etc_Pass<"etc-schedule-chunks"> {
  let summary = "Cut what moves into rounds under a memory budget";
  let description = [{
    Distributes everything over globally numbered rounds, so that live bytes (state and staging) stay within the budget
    on every device: current tensors are allocated in the round that first writes them, previous ones released in the
    round that last reads them. Flows progress in proportion, so that memory comes free as fast as it is taken.
    Tensors that do not fit a round's staging slab are cut. What is derived comes in a later round than its source, and
    what is relayed in a later round than it arrives. Without a budget, 1.05 x max(prev, curr) or, where no
    rounds that are found keep this, 2% above the least. With `by-time`, what is sent on is also scheduled in as many rounds as its chain needs to progress as a
    pipeline (a chain of h hops takes (K + h) / K of the time of its bytes in K rounds), and in rounds that are level on
    all links and NICs; where that is estimated to be faster, by a hundredth at least, it is taken, and the migration is
    marked `etc.by_time` unless the pause was at least 1.1 times as long and is at most 1.5 times the time of the busiest
    link or NIC, by an estimate that is then off by less.
    Where devices make more
    than `most-transfers` sends and receives of tensors, one kind of level rounds alone is tried, and taken if it cuts
    them into hardly more chunks; a mark of `etc-route` is removed, since planning once more would take longer than the
    pause that it could shorten. With more than 100 000 sends and receives and 256 programs, trials are left out if they
    could save less than `least-gain`, and the migration is marked `etc.quick`. With `faster-than`, a pause that is surely
    no shorter, because of the busiest link or NIC or of the rounds, is an error; with `most-peak`, which is
    the budget if there is no other, so is a peak above it. With `by-time`, where none keep 1.05, the migration is
    marked `etc.least_peak`.

    ```mlir
    etc.cut [L4..7] [master] rounds [0, 1]
    ```
  }];
  let options = [Option<"byTime", "by-time", "bool", "false",
                        "More rounds where what is sent on is then faster">,
                 Option<"mostTransfers", "most-transfers", "int64_t", "524288",
                        "Sends and receives above which few rounds are compared by their time">,
                 Option<"leastGain", "least-gain", "double", "0",
                        "Seconds that other rounds have to save where many devices differ">,
                 Option<"fasterThan", "faster-than", "double", "0",
                        "Seconds: only a schedule that may take less is wanted (0: any is)">,
                 Option<"mostPeak", "most-peak", "double", "0",
                        "Of the larger state, without a budget: no higher peak is wanted (0: any is)">];
  let statistics = [Statistic<"rounds", "rounds", "Number of rounds">];
}

def LowerToInstructionsPass : Etc_Pass<"etc-lower-to-instructions"> {
  let summary = "Write Send, Recv and Refer, a program a class of devices";
  let description = [{
    Takes no decision: what a device holds and keeps is an `etc.refer`, what it lacks an `etc.recv` here and an `etc.send` at
    the source of its transfer, what is derived an `etc.derive`, rows that padding adds an `etc.zero`, and previous state
    ends with an `etc.release`, each in the rounds of its `etc.cut`. Chunks that follow each other in one round are one
    piece. Devices that do the same become one `etc.program`, which states its staging slabs and peaks. Demands,
    transfers and schedule are taken out.
  }];
  let statistics = [Statistic<"programs", "programs", "Classes of devices">];
}

//===----------------------------------------------------------------------===//
// The paper's policy
//===----------------------------------------------------------------------===//

def BuildPaperCostsPass : Etc_Pass<"etc-build-paper-costs"> {
  let summary = "Build the paper's cost matrices, by dimension and merged";
  let description = [{
    Adds the matrices of pipeline stages (`pp`, in layers) and of tensor ranks (`tp`, in slices of LCM(TP, TP')), and
    the `merged` one (paper, section III-C): the largest stage cost where two stages share nothing, else the stage cost
    times the coefficient `c / max` of the tensor ranks. Costs are multiplied by that max, so that they are integers.
  }];
}

def SolvePaperAssignmentPass : Etc_Pass<"etc-solve-paper-assignment"> {
  let summary = "Decide who takes which role as the paper's Algorithm 1 does";
  let description = [{
    Pads the cost matrix with zeros to a square, solves it (Hungarian; rows in order, lowest column of equal ones), and
    drops the pairs that involve padding. Every data-parallel group that exists on both sides does the same; the ranks
    of further groups are paired with none. Replaces the `etc.pair` ops there are; an `etc.certificate` stays, as the
    bound. Marks the migration with `policy paper`: its programs may keep less than the certificate proves possible.
  }];
  let options = [
    Option<"costs", "costs", "::etc::CostUnit", "::etc::CostUnit::Merged",
           "Matrix to solve", [{::llvm::cl::values(
               clEnumValN(::etc::CostUnit::Merged, "merged", "as the paper merges"),
               clEnumValN(::etc::CostUnit::Units, "units", "exact units"))}]>];
}

def TwoStagePass : Pass<"etc-two-stage", "::mlir::ModuleOp"> {
  let summary = "De-fragment in a migration of its own";
  let description = [{
    For every migration that has its placement, appends the migration from there to the placement that Algorithm 2 would
    give it, and takes it as far. Both are then planned and proved, each by itself.
  }];
  let dependentDialects = ["::etc::EtcDialect"];
}

#endif // ETC_TRANSFORMS_PASSES_TD
