//===- EtcOps.td - Operations of the etc dialect -----------*- tablegen -*-===//

#ifndef ETC_DIALECT_OPS_TD
#define ETC_DIALECT_OPS_TD

include "dialect/EtcAttrs.td"
include "dialect/EtcInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Etc_Op<string mnemonic, list<Trait> traits = []> : Op<Etc_Dialect, mnemonic, traits>;

// What stands directly in the body of a migration. It says what is so, and later passes read it: no effect is declared, so
// that nothing takes it for dead.
class Etc_StageOp<string mnemonic, list<Trait> traits = []>
    : Etc_Op<mnemonic, [HasParent<"MigrationOp">] # traits>;

//===----------------------------------------------------------------------===//
// The request
//===----------------------------------------------------------------------===//

def Etc_MigrationOp : Etc_Op<"migration", [IsolatedFromAbove, NoRegionArguments, NoTerminator,
                                           SingleBlock, Symbol, SymbolTable]> {
  let summary = "one migration, from request to plan";
  let description = [{
    Moves the state of a training job from the configuration `prev` to `curr`, on a cluster whose nodes have the
    listed numbers of devices. Devices are numbered through the cluster, node by node. `on` lists the device of every
    previous rank where it is not the rank's own number, `to ... on` fixes the devices of the current ranks; `failed`
    devices hold nothing any more, `leaving` ones may send but take no role. `place` says where roles may go: `any`
    device (also where it is absent), tensor-parallel groups inside nodes (`tp`), or that on the fewest nodes (`pack`).
    Bytes of live state, staging included,
    stay below `budget_bytes`, or below `budget_ppm` millionths of the larger of a device's two states.
    `policy paper` says that the paper's method placed the roles. `stage` is what the passes so far have made of it, the
    request where it is absent; each pass takes the migration at one stage and leaves it at the next. `vocab` is the rows of the vocabulary without padding:
    the next migration has to be of the same.

    A type with `from` is *derived* where the type it names is among `types`: it is not moved but cast again where its
    source lands, so it costs nothing to move. `derive none` moves it all the same; it is still known what it is cast
    from.

    Example:

    ```mlir
    etc.migration @gpt2 PP2TP2 to PP4 nodes [4] layers 12
        types [param : bf16 from master, master : f32] {
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Etc_ParallelAttr:$prev, Etc_ParallelAttr:$curr,
                       OptionalAttr<DenseI64ArrayAttr>:$prev_devices,
                       OptionalAttr<DenseI64ArrayAttr>:$curr_devices,
                       DenseI64ArrayAttr:$nodes,
                       OptionalAttr<DenseI64ArrayAttr>:$failed,
                       OptionalAttr<DenseI64ArrayAttr>:$leaving,
                       OptionalAttr<Etc_Place>:$place,
                       ConfinedAttr<I64Attr, [IntPositive]>:$layers,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$experts,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$vocab,
                       Etc_StateArrayAttr:$types, UnitAttr:$derive_none,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$budget_bytes,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$budget_ppm,
                       OptionalAttr<Etc_Policy>:$policy,
                       DefaultValuedOptionalAttr<Etc_Stage, "::etc::Stage::Request">:$stage);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name custom<Parallel>($prev) (`on` $prev_devices^)? `to` custom<Parallel>($curr)
    (`on` $curr_devices^)? `nodes` $nodes (`failed` $failed^)? (`leaving` $leaving^)?
    (`place` $place^)?
    `layers` $layers (`experts` $experts^)? (`vocab` $vocab^)? `types` custom<States>($types) (`derive` `none` $derive_none^)?
    (`policy` $policy^)? (`stage` custom<Stage>($stage)^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ParallelAttr getParallel(Side side) { return side == Side::Prev ? getPrev() : getCurr(); }
    /// LCM(TP, TP'): into how many slices a workload id cuts a tensor.
    int64_t getSliceCount();
    /// The same for what belongs to an expert: LCM(ETP, ETP').
    int64_t getExpertSliceCount();
    /// The layers of one chunk on one side; chunks are numbered in forward order.
    std::pair<int64_t, int64_t> getChunk(Side side, int64_t chunk);
    /// Whether a chunk has what stands before or behind the layers. The final norm is behind the last layer where
    /// further tokens are predicted, else on the last chunk.
    bool hasPart(Side side, int64_t chunk, Part part);
    /// The layers of a stage on one side, ascending and apart, as half-open pairs.
    llvm::SmallVector<std::pair<int64_t, int64_t>> getLayersOf(Side side, int64_t stage);
    int64_t getDeviceCount();
    /// Device of every previous rank.
    llvm::SmallVector<int64_t> getPrevPlacement();
    /// The type of a name.
    std::optional<unsigned> lookupType(mlir::StringAttr name);
    /// The type that a derived type is cast from; none where the type moves.
    std::optional<unsigned> getDerivationSource(unsigned type);
    /// What the type names as its source, if it is there, is one that the runtime can cast from.
    mlir::LogicalResult verifyDerivation(unsigned type);
    /// Where the request has the first of these fields that it has (`curr.devices`), else where it begins.
    mlir::Location getFieldLoc(llvm::ArrayRef<llvm::StringRef> fields);
    /// An error at that place.
    mlir::InFlightDiagnostic emitFieldError(llvm::ArrayRef<llvm::StringRef> fields);
    /// The ops of one kind in the body, in order.
    template <typename OpT> auto getOps() { return getBody().getOps<OpT>(); }
    /// The cost matrix in some unit, or null.
    MatrixAttr getCosts(CostUnit unit);
    /// The only op of its kind, or null.
    template <typename OpT> OpT getOnly() {
      auto ops = getBody().getOps<OpT>();
      return ops.begin() == ops.end() ? OpT() : *ops.begin();
    }
  }];
}

def Etc_TensorOp : Etc_StageOp<"tensor"> {
  let summary = "a tensor of the meta model, or one for each layer";
  let description = [{
    Global name, planning shape, and the axis that tensor parallelism cuts (absent: every tensor rank holds a copy). In
    a `layer` block the name has `{layer}` in place of the number, and the tensor stands for one of every layer, or of
    the range `of_layers`. With `{expert}` there is one for each expert: expert parallelism deals them out in
    equal runs, and the axis is cut by the experts' own tensor parallelism. `view` is the shape that the framework sees.

    `prev` gives the previous side's shape where it differs: a vocabulary is padded per side. A tied copy is a tensor
    of its own, equal to the one it names; it exists only where the pipeline has more than one stage.

    A tensor has all types of the migration, or those listed as `types`. Types that are laid out differently are ops of
    one name: on a side with the distributed optimizer a `flat` one is cut into ranges of the parameter buffers, in
    which the tensors lie in the order of their ops, last one first.

    Example:

    ```mlir
    etc.tensor "decoder.layers.{layer}.mlp.linear_fc1.weight" in layer [3072, 768] split 0
    etc.tensor "output_layer.weight" in head [50688, 768] prev [50432, 768] split 0
        tied_to "embedding.word_embeddings.weight"
    ```
  }];
  let arguments = (ins StrAttr:$name, Etc_Part:$part, DenseI64ArrayAttr:$shape,
                       OptionalAttr<DenseI64ArrayAttr>:$prev_shape,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$split,
                       OptionalAttr<StrAttr>:$tied_to,
                       OptionalAttr<DenseI64ArrayAttr>:$view,
                       OptionalAttr<DenseI64ArrayAttr>:$of_layers,
                       OptionalAttr<StrArrayAttr>:$types, UnitAttr:$flat);
  let assemblyFormat = [{
    $name `in` $part $shape (`prev` $prev_shape^)? (`split` $split^)? (`tied_to` $tied_to^)? (`view` $view^)?
    (`of_layers` custom<Ranges>($of_layers)^)? (`types` custom<Types>($types)^)? (`flat` $flat^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The name that ids use: without the layer's prefix and the expert's number.
    std::string getShortName();
    bool isOfExpert() { return getName().contains("{expert}"); }
    llvm::ArrayRef<int64_t> getShapeOn(Side side) {
      return side == Side::Prev && getPrevShape() ? *getPrevShape() : getShape();
    }
    /// The axis of an id's positions: the one that is split, else the first.
    int64_t getCutAxis() { return getSplit().value_or(0); }
    /// Whether a layer has the tensor.
    bool isInLayer(int64_t layer);
    /// Whether a side has it at all: tied copies exist only on other stages than the first.
    bool isOn(ParallelAttr parallel);
  }];
}

//===----------------------------------------------------------------------===//
// Workloads, cost matrix, sketch, placement
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

def Etc_ProgramOp : Etc_StageOp<"program", [IsolatedFromAbove, NoTerminator, SingleBlock, Symbol,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "the instructions of a class of devices";
  let description = [{
    Devices that do the same are one program. Its block arguments are devices bound to parallel lists: entry i of
    `%self` is replica i, and entry i of a peer's list is the device that replica i means by it. `curr` and `prev` are
    the roles the devices take and had, `none` where there is none.

    Once scheduled, a program states the bytes of its two staging slabs and the proved peaks of live bytes: `peak`
    where state is released round by round, `peak_safe` where nothing previous is released before the commit.

    Example:

    ```mlir
    etc.program @"P0T0 <- P0T0" P0T0 from P0T0 (%self = [0, 4], %p1 = [1, 5]) {
      etc.round 0 {
        etc.refer [L0..3] [param, master] on %self
        etc.recv [L4..7] [param] %p1 to %self
      }
      etc.round 1 {
        etc.recv [L4..7] [master] %p1 to %self
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<Etc_RoleAttr>:$curr,
                       OptionalAttr<Etc_RoleAttr>:$prev, Etc_DeviceListsAttr:$bindings,
                       OptionalAttr<I64Attr>:$send_slab, OptionalAttr<I64Attr>:$recv_slab,
                       OptionalAttr<I64Attr>:$peak, OptionalAttr<I64Attr>:$peak_safe);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name custom<OptionalRole>($curr) `from` custom<OptionalRole>($prev)
    (`slabs` $send_slab^ `,` $recv_slab)? (`peak` $peak^ `safe` $peak_safe)?
    custom<BoundRegion>($bindings, $body) attr-dict
  }];
  let hasVerifier = 1;
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
    Within a round, current tensors that are first written in it are allocated; sends, refers, zeros and derives
    read what earlier rounds left; receives land; after the acknowledgement, releases free previous state.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$index);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$index $body attr-dict";
}

// What instructions read and write: each is there for its effect alone, and none is dead or the repetition of another.
def Etc_PreviousState : Resource<"::etc::PreviousState">;
def Etc_CurrentState : Resource<"::etc::CurrentState">;
def Etc_Network : Resource<"::etc::Network">;

class Etc_InstructionOp<string mnemonic, list<Trait> traits = []>
    : Etc_Op<mnemonic, [ParentOneOf<["ProgramOp", "RoundOp"]>] # traits> {
  let hasVerifier = 1;
}

class Etc_TransferOp<string mnemonic, string peer, list<MemoryEffect> effects>
    : Etc_InstructionOp<mnemonic, [MemoryEffects<effects>,
                                   DeclareOpInterfaceMethods<Etc_InstructionOpInterface>,
                                   DeclareOpInterfaceMethods<Etc_TransferOpInterface, ["getPeer"]>]> {
  let arguments = (ins Etc_WorkloadArrayAttr:$wid, StrArrayAttr:$wt, Etc_DeviceType:$sid,
                       Etc_DeviceType:$did, UnitAttr:$tied,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntMinValue<1>]>>:$hop);
  let assemblyFormat = [{
    custom<Workloads>($wid) custom<Types>($wt) $sid `to` $did (`of_twin` $tied^)? (`hop` $hop^)? attr-dict
  }];
  let extraClassDefinition = "::mlir::Value $cppClass::getPeer() { return " # peer # "(); }";
}

class Etc_LocalOp<string mnemonic, list<MemoryEffect> effects>
    : Etc_InstructionOp<mnemonic, [MemoryEffects<effects>,
                                   DeclareOpInterfaceMethods<Etc_InstructionOpInterface>]> {
  let arguments = (ins Etc_WorkloadArrayAttr:$wid, StrArrayAttr:$wt, Etc_DeviceType:$device);
  let assemblyFormat = "custom<Workloads>($wid) custom<Types>($wt) `on` $device attr-dict";
}

// A relay reads the current state.
def Etc_SendOp : Etc_TransferOp<"send", "getDid", [MemRead<Etc_PreviousState>, MemRead<Etc_CurrentState>,
                                                   MemWrite<Etc_Network>]> {
  let summary = "sends workloads to another device";
  let description = [{
    Reads the previous state of `sid`. With `of_twin`, the ids name tied copies at the destination and the bytes come
    from the tensors they are tied to. With `hop`, it is a relay: it reads the current state, what arrived with one hop
    less in an earlier round.

    Example:

    ```mlir
    etc.send [L4..7.a] [param, master] %self to %p1
    etc.send [L4..7.a] [param, master] %self to %p2 hop 1
    ```
  }];
}

def Etc_RecvOp : Etc_TransferOp<"recv", "getSid", [MemRead<Etc_Network>, MemWrite<Etc_CurrentState>]> {
  let summary = "receives workloads from another device";
  let description = [{
    Writes the current state of `did`. The peer's program holds the matching `etc.send`, of the same `hop`.

    Example:

    ```mlir
    etc.recv [L4..7.a] [param, master] %p1 to %self
    ```
  }];
}

def Etc_ReferOp : Etc_InstructionOp<"refer", [MemoryEffects<[MemRead<Etc_PreviousState>, MemWrite<Etc_CurrentState>]>,
                                              DeclareOpInterfaceMethods<Etc_InstructionOpInterface>]> {
  let summary = "keeps workloads where they are";
  let description = [{
    Binds what the device holds already to the current state: no bytes move. A whole shard keeps its memory; a part of
    one is copied within the device. With `of_twin`, the ids name tied copies made from the tensors they are tied to.

    Example:

    ```mlir
    etc.refer [L0..3] [param, master, exp_avg, exp_avg_sq] on %self
    ```
  }];
  let arguments = (ins Etc_WorkloadArrayAttr:$wid, StrArrayAttr:$wt, Etc_DeviceType:$device,
                       UnitAttr:$tied);
  let assemblyFormat = [{
    custom<Workloads>($wid) custom<Types>($wt) `on` $device (`of_twin` $tied^)? attr-dict
  }];
}

def Etc_ZeroOp : Etc_LocalOp<"zero", [MemWrite<Etc_CurrentState>]> {
  let summary = "fills workloads that are new with zeros";
  let description = [{
    For the rows that padding adds to a vocabulary.

    Example:

    ```mlir
    etc.zero [embed/embedding.word_embeddings.weight[50432:50688]] [param] on %self
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
    etc.derive [L4..7.a] [param] on %self
    ```
  }];
}

def Etc_ReleaseOp : Etc_LocalOp<"release", [MemFree<Etc_PreviousState>]> {
  let summary = "frees previous state, after the round's transfers are acknowledged";
  let description = [{
    The ids name all that the device held of their tensors: previous state is released whole.

    Example:

    ```mlir
    etc.release [L4..7] [param] on %self
    ```
  }];
}

#endif // ETC_DIALECT_OPS_TD
