//===- EtcInstructionOps.td - Programs and instructions ----*- tablegen -*-===//

#ifndef ETC_DIALECT_INSTRUCTION_OPS_TD
#define ETC_DIALECT_INSTRUCTION_OPS_TD

include "dialect/EtcInterfaces.td"
include "dialect/EtcOpBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Etc_ProgramOp : Etc_StageOp<"program", [IsolatedFromAbove, NoTerminator, SingleBlock, Symbol,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "the instructions of a class of devices";
  let description = [{
    Devices that do the same are one program. Its block arguments are devices bound to parallel lists: entry i of
    `%self` is replica i, and entry i of a peer's list is the device that replica i means by it. Instructions are those
    of `%self`, which they do not name. `curr` and `prev` are
    the roles the devices take and had, `none` where there is none.

    Once scheduled, a program states the bytes of its two staging slabs and the proved peaks of live bytes: `peak`
    where state is released round by round, `peak_safe` where nothing previous is released before the commit. Where
    state is deferred, `tail_peak` and `tail_peak_safe` are the peaks of the deferred rounds, gradients included.

    Example:

    ```mlir
    etc.program @"P0T0 <- P0T0" P0T0 from P0T0 (%self = [0, 4], %p1 = [1, 5]) {
      etc.round 0 {
        etc.refer [L0..3] [param, master]
        etc.recv [L4..7] [param] from %p1
      }
      etc.round 1 {
        etc.recv [L4..7] [master] from %p1
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<Etc_RoleAttr>:$curr,
                       OptionalAttr<Etc_RoleAttr>:$prev, Etc_DeviceListsAttr:$bindings,
                       OptionalAttr<I64Attr>:$send_slab, OptionalAttr<I64Attr>:$recv_slab,
                       OptionalAttr<I64Attr>:$peak, OptionalAttr<I64Attr>:$peak_safe,
                       OptionalAttr<I64Attr>:$tail_peak, OptionalAttr<I64Attr>:$tail_peak_safe);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name custom<OptionalRole>($curr) `from` custom<OptionalRole>($prev)
    (`slabs` $send_slab^ `,` $recv_slab)? (`peak` $peak^ `safe` $peak_safe)?
    (`tail` $tail_peak^ `safe` $tail_peak_safe)?
    custom<BoundRegion>($bindings, $body) attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The devices of the class, replica by replica.
    llvm::ArrayRef<int64_t> getDevices() {
      return llvm::cast<mlir::DenseI64ArrayAttr>(getBindings()[0]).asArrayRef();
    }
    /// The devices that an argument of the body is bound to.
    llvm::ArrayRef<int64_t> getDevices(mlir::Value argument) {
      unsigned index = llvm::cast<mlir::BlockArgument>(argument).getArgNumber();
      return llvm::cast<mlir::DenseI64ArrayAttr>(getBindings()[index]).asArrayRef();
    }
    mlir::Value getSelf() { return getBody().getArgument(0); }
  }];
}

def Etc_RoundOp : Etc_Op<"round", [HasParent<"ProgramOp">, NoTerminator, SingleBlock,
                                   NoRegionArguments, RecursiveMemoryEffects]> {
  let summary = "what a class of devices does in one globally numbered round";
  let description = [{
    Within a round, current and transit tensors that are first written in it are allocated; sends, refers, zeros and
    derives read what earlier rounds left; receives land; after the acknowledgement, releases free previous state and
    what has been passed on. A `deferred` round runs after the pause, and all rounds behind it do.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$index, UnitAttr:$deferred);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$index (`deferred` $deferred^)? $body attr-dict";
}

// What instructions read and write: each is there for its effect alone, and none is dead or the repetition of another.
def Etc_PreviousState : Resource<"::etc::PreviousState">;
def Etc_CurrentState : Resource<"::etc::CurrentState">;
def Etc_TransitState : Resource<"::etc::TransitState">;
def Etc_Network : Resource<"::etc::Network">;

// Programs verify their instructions.
class Etc_InstructionOp<string mnemonic, list<Trait> traits = []>
    : Etc_Op<mnemonic, [ParentOneOf<["ProgramOp", "RoundOp"]>] # traits>;

class Etc_MessageOp<string mnemonic, string preposition, list<MemoryEffect> effects>
    : Etc_InstructionOp<mnemonic, [MemoryEffects<effects>,
                                   DeclareOpInterfaceMethods<Etc_InstructionOpInterface>,
                                   DeclareOpInterfaceMethods<Etc_TransferOpInterface>]> {
  let arguments = (ins Etc_WorkloadArrayAttr:$wid, StrArrayAttr:$wt, Etc_DeviceType:$peer,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntMinValue<1>]>>:$hop, UnitAttr:$transit);
  let assemblyFormat = "custom<Workloads>($wid) custom<Types>($wt) `" # preposition # [{` $peer
    (`hop` $hop^)? (`transit` $transit^)? attr-dict
  }];
}

class Etc_LocalOp<string mnemonic, list<MemoryEffect> effects>
    : Etc_InstructionOp<mnemonic, [MemoryEffects<effects>,
                                   DeclareOpInterfaceMethods<Etc_InstructionOpInterface>]> {
  let arguments = (ins Etc_WorkloadArrayAttr:$wid, StrArrayAttr:$wt);
  let assemblyFormat = "custom<Workloads>($wid) custom<Types>($wt) attr-dict";
}

// A relay reads the current state.
def Etc_SendOp : Etc_MessageOp<"send", "to", [MemRead<Etc_PreviousState>, MemRead<Etc_CurrentState>,
                                                   MemRead<Etc_TransitState>, MemWrite<Etc_Network>]> {
  let summary = "sends workloads to another device";
  let description = [{
    Reads the previous state: of a tied tensor that the device does not hold, the first twin that it holds. With `hop`,
    it is a relay: it reads the current state, what arrived with one hop less in an earlier round; with `transit`, what
    arrived to be passed on only.

    Example:

    ```mlir
    etc.send [L4..7.a] [param, master] to %p1
    etc.send [L4..7.a] [param, master] to %p2 hop 1
    etc.send [L4..7.b] [param, master] to %p2 hop 1 transit
    ```
  }];
}

def Etc_RecvOp : Etc_MessageOp<"recv", "from", [MemRead<Etc_Network>, MemWrite<Etc_CurrentState>,
                                                   MemWrite<Etc_TransitState>]> {
  let summary = "receives workloads from another device";
  let description = [{
    Writes the current state; with `transit`, memory that is freed when the bytes have been passed on. The
    peer's program holds the matching `etc.send`, of the same `hop`.

    Example:

    ```mlir
    etc.recv [L4..7.a] [param, master] from %p1
    ```
  }];
}

def Etc_ReferOp : Etc_LocalOp<"refer", [MemRead<Etc_PreviousState>, MemWrite<Etc_CurrentState>]> {
  let summary = "keeps workloads where they are";
  let description = [{
    Binds what the device holds already to the current state: no bytes move. A whole shard keeps its memory; a part of
    one is copied within the device. A tied tensor that the device does not hold is copied from the first twin that it
    holds.

    Example:

    ```mlir
    etc.refer [L0..3] [param, master, exp_avg, exp_avg_sq]
    ```
  }];
}

def Etc_ZeroOp : Etc_LocalOp<"zero", [MemWrite<Etc_CurrentState>]> {
  let summary = "fills workloads that are new with zeros";
  let description = [{
    For the rows that padding adds to a vocabulary.

    Example:

    ```mlir
    etc.zero [embed/embedding.word_embeddings.weight[50432:50688]] [param]
    ```
  }];
}

def Etc_DeriveOp : Etc_LocalOp<"derive", [MemRead<Etc_CurrentState>, MemWrite<Etc_CurrentState>]> {
  let summary = "casts workloads from the type that they are derived from";
  let description = [{
    Reads the current state of the source type, which earlier rounds must have completed, and writes that of the derived
    types. Takes the place of an `etc.recv` where the cast gives the very bits that would be moved.

    Example:

    ```mlir
    etc.derive [L4..7.a] [param]
    ```
  }];
}

def Etc_ReleaseOp : Etc_InstructionOp<"release", [MemoryEffects<[MemFree<Etc_PreviousState>, MemFree<Etc_TransitState>]>,
                                                  DeclareOpInterfaceMethods<Etc_InstructionOpInterface>]> {
  let summary = "frees previous state, after the round's transfers are acknowledged";
  let description = [{
    The ids name all that the device held of their tensors: previous state is released whole. With `transit`, they name
    all that it received of them to be passed on, which is released when it has been.

    Example:

    ```mlir
    etc.release [L4..7] [param]
    ```
  }];
  let arguments = (ins Etc_WorkloadArrayAttr:$wid, StrArrayAttr:$wt, UnitAttr:$transit);
  let assemblyFormat = "custom<Workloads>($wid) custom<Types>($wt) (`transit` $transit^)? attr-dict";
}

#endif // ETC_DIALECT_INSTRUCTION_OPS_TD
