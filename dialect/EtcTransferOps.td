//===- EtcTransferOps.td - From a placement to rounds ------*- tablegen -*-===//
//
// What devices lack, who sends it to them, and in which rounds.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_DIALECT_TRANSFER_OPS_TD
#define ETC_DIALECT_TRANSFER_OPS_TD

include "dialect/EtcInterfaces.td"
include "dialect/EtcOpBase.td"
include "mlir/IR/RegionKindInterface.td"

// All that one pass says, in one op: that it is there says that the pass has run, even where nothing has to move.
class Etc_ListOp<string mnemonic> : Etc_StageOp<mnemonic, [NoRegionArguments, NoTerminator, SingleBlock]> {
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
}

// An entry of such a list. No effect is declared, so that nothing takes it for dead.
class Etc_EntryOp<string mnemonic, string owner, list<string> methods = []>
    : Etc_Op<mnemonic, [HasParent<owner>, DeclareOpInterfaceMethods<Etc_WorkloadsOpInterface, methods>]> {
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Demands
//===----------------------------------------------------------------------===//

def Etc_DemandsOp : Etc_ListOp<"demands"> {
  let summary = "all that devices lack";
  let description = [{
    One `etc.demand` for what the same devices lack and the same previous roles hold. Together they are all that has to
    move: a derived type is cast where its source lands, and what padding adds is zeroed there. Who sends it is
    not decided yet.

    Example:

    ```mlir
    etc.demands {
      etc.demand [L4..7.a] [param, master] on [0, 4] held_by [P1T0, P1T1]
    }
    ```
  }];
}

def Etc_DemandOp : Etc_EntryOp<"demand", "DemandsOp", ["isOrdered"]> {
  let summary = "what some devices lack, and the previous roles that have it";
  let description = [{
    Each of the `devices` lacks all of the workloads, and any living device of each of the `holders` has all of them, or
    of tied tensors that equal them. A holder without a replica stands for all of its role's replicas. Parts of one
    tensor are cut in the order of their ids.

    Example:

    ```mlir
    etc.demand [head/output_layer.weight] [master] on [3] held_by [P0T0]
    ```
  }];
  let arguments = (ins Etc_WorkloadArrayAttr:$wid, StrArrayAttr:$wt, DenseI64ArrayAttr:$devices,
                       Etc_RoleArrayAttr:$holders);
  let assemblyFormat = [{
    custom<Workloads>($wid) custom<Types>($wt) `on` $devices `held_by` custom<Roles>($holders) attr-dict
  }];
  let extraClassDefinition = "bool $cppClass::isOrdered() { return true; }";
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

def Etc_TransfersOp : Etc_ListOp<"transfers"> {
  let summary = "all that moves between devices";
  let description = [{
    Every demand as `etc.transfer`s, whole or in parts. Takes the place of `etc.demands`. A relay sends what it received: the
    source of a transfer with `hop` receives some transfer with one hop less. A device that does not lack what it receives
    only passes it on: it receives, and sends, in `transit`.

    Example:

    ```mlir
    etc.transfers {
      etc.transfer [L4..7.a] [param, master] from [1, 5] to [0, 4]
      etc.transfer [L4..7.a] [param, master] from [0] to transit [3] hop 1
      etc.transfer [L4..7.a] [param, master] from transit [3] to [2] hop 2
    }
    ```
  }];
  let hasRegionVerifier = 1;
}

def Etc_TransferOp : Etc_EntryOp<"transfer", "TransfersOp"> {
  let summary = "workloads that go from devices to others";
  let description = [{
    Entry i of `destinations` receives all of the workloads from entry i of `sources`. Without `hop` the source reads its
    previous state, where a tied tensor that it does not hold is read from a twin that it holds; with `hop`, the current
    state that arrived with one hop less, or what arrived in transit.

    Example:

    ```mlir
    etc.transfer [L4..7.a] [param, master] from [1, 5] to [0, 4]
    ```
  }];
  let arguments = (ins Etc_WorkloadArrayAttr:$wid, StrArrayAttr:$wt, DenseI64ArrayAttr:$sources,
                       DenseI64ArrayAttr:$destinations,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntMinValue<1>]>>:$hop,
                       UnitAttr:$from_transit, UnitAttr:$to_transit);
  let assemblyFormat = [{
    custom<Workloads>($wid) custom<Types>($wt) `from` (`transit` $from_transit^)? $sources
    `to` (`transit` $to_transit^)? $destinations (`hop` $hop^)? attr-dict
  }];
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

def Etc_ScheduleOp : Etc_ListOp<"schedule"> {
  let summary = "when everything moves";
  let description = [{
    One `etc.cut` for the tensors and types that are cut alike over the same rounds. Every tensor that a device holds
    before or after is in one of them, in every type that it has.

    Example:

    ```mlir
    etc.schedule {
      etc.cut [L0..3] [master] rounds [0, 1]
      etc.cut [L0..3] [param] rounds [0] derived 2
    }
    ```
  }];
}

def Etc_CutOp : Etc_EntryOp<"cut", "ScheduleOp"> {
  let summary = "the rounds of the chunks of some tensors";
  let description = [{
    The ids name whole tensors of the previous state (or of the current one, where there is no previous one); what is
    made from one goes with it. `rounds` has a list for each hop: chunk i of what moves with hop h does so in round
    `rounds[h][i]`. A transfer is cut along the first of its axes that is long enough. What a device keeps is bound or
    copied with the first chunk of hop 0, and the previous state is released after the last one. What is derived is cast in
    round `derived`.

    Example:

    ```mlir
    etc.cut [L0..3] [master] rounds [0, 1], [1, 2]
    ```
  }];
  let arguments = (ins Etc_WorkloadArrayAttr:$wid, StrArrayAttr:$wt, Etc_RoundListsAttr:$rounds,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$derived);
  let assemblyFormat = [{
    custom<Workloads>($wid) custom<Types>($wt) `rounds` custom<RoundLists>($rounds) (`derived` $derived^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// The rounds of all chunks at one hop.
    llvm::ArrayRef<int64_t> getRoundsOf(unsigned hop) {
      return llvm::cast<mlir::DenseI64ArrayAttr>(getRounds()[hop]).asArrayRef();
    }
  }];
}

#endif // ETC_DIALECT_TRANSFER_OPS_TD
