//===- EtcAttrs.td - Attributes of the etc dialect ---------*- tablegen -*-===//

#ifndef ETC_DIALECT_ATTRS_TD
#define ETC_DIALECT_ATTRS_TD

include "dialect/EtcBase.td"

class Etc_Attr<string name, string attrMnemonic> : AttrDef<Etc_Dialect, name> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

def Etc_ParallelAttr : Etc_Attr<"Parallel", "parallel"> {
  let summary = "a hybrid-parallel configuration";
  let description = [{
    Degrees of pipeline (PP), tensor (TP), data (DP), context (CP), expert (EP) and expert tensor (ETP) parallelism and
    the model chunks of a stage (VPP), in the paper's shorthand; an absent dimension is 1, an absent ETP is TP. Ranks
    follow Megatron's order `tp-cp-ep-dp-pp`, the first varying fastest; `pp_before_dp` is `tp-cp-ep-pp-dp`.

    `stages` lists the layers of every chunk in forward order (entry k * PP + p is chunk k of stage p) where they are
    not all equal; `mtp_stage` is the stage of the layers that predict further tokens, -1 the last. With `zero1` optimizer states
    are flat ranges over the data- and context-parallel ranks; with `buckets` the first chunk of the first stage is
    several buckets of at least so many elements, each cut into ranges of its own.

    With `fsdp` so many data-parallel ranks in a row share one copy of all state, cut by rows as torch.chunk does it;
    further data-parallel ranks repeat it.

    With `inventory` it is no configuration: its DP ranks are devices that hold whatever their `etc.workload` ops say.

    A stage's weights repeat after `slots` = lcm(TP, ETP x EP) ranks: rank i of a stage has slot `i mod slots` and is
    replica `i / slots`.

    Example: `#etc.parallel<PP4TP2DP3>`, `#etc.parallel<PP2TP2DP4 stages [5, 4] zero1>`, `#etc.parallel<PP1DP8 zero1 buckets 40000000>`,
    `#etc.parallel<PP1TP2DP8 fsdp 4>`
  }];
  let parameters = (ins "int64_t":$pp, "int64_t":$tp, "int64_t":$dp, "int64_t":$cp, "int64_t":$ep, "int64_t":$etp,
                        "int64_t":$vpp, ArrayRefParameter<"int64_t">:$stages, "int64_t":$mtpStage, "bool":$ppBeforeDp, "bool":$zero1, "int64_t":$bucketSize,
                        "bool":$inventory, "int64_t":$fsdp);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getStageWorld() const { return getTp() * getCp() * getDp(); }
    int64_t getWorld() const { return getPp() * getStageWorld(); }
    int64_t getSlots() const;
    int64_t getReplicas() const { return getStageWorld() / getSlots(); }
    /// Ranks of equal holdings are one role. The replicas of a rank are its equals, unless each holds a range of its
    /// own.
    int64_t getRoles() const { return getPp() * getSlots() * (hasRanges() ? getReplicas() : 1); }
    int64_t getRoleReplicas() const { return hasRanges() ? 1 : getReplicas(); }
    /// Whether replicas hold state of their own.
    bool hasRanges() const { return getZero1() || ownsAll(); }
    /// Whether replicas may differ in all that they hold, not only in flat tensors.
    bool ownsAll() const { return getInventory() || getFsdp() > 1; }
    /// Roles are numbered stage by stage, slot by slot, replica by replica.
    int64_t getRoleIndex(RoleAttr role) const;
    RoleAttr getRole(int64_t index) const;
    bool hasRole(RoleAttr role) const;
    /// The roles of one stage and slot are a pool: they hold the same but for their ranges. Without the distributed
    /// optimizer every role is a pool.
    int64_t getPools() const { return getPp() * getSlots(); }
    int64_t getPoolOf(int64_t role) const { return role / (getRoles() / getPools()); }
    int64_t getPoolIndex(RoleAttr role) const;
    /// A pool is written as a role without replica.
    RoleAttr getPool(int64_t index) const;
    bool hasPool(RoleAttr role) const;
    /// "PP4TP2DP3"; dimensions of 1 are left out, all but the first.
    std::string str() const;
    /// With stages, order and the distributed optimizer, as ops print it.
    void printBody(::mlir::AsmPrinter &printer) const;
    static ::mlir::FailureOr<ParallelAttr> parseBody(::mlir::AsmParser &parser);
  }];
}

def Etc_RoleAttr : Etc_Attr<"Role", "role"> {
  let summary = "what a rank is, apart from its replica";
  let description = [{
    Stage `P` and slot `T`: the rank's number within the stage, modulo the slots (without experts, the tensor-parallel
    rank). With the distributed optimizer also the replica `D`, since each has a range of its own; without it the role
    stands for all replicas.

    Example: `#etc.role<P0T1>`, `#etc.role<P0T1D3>`
  }];
  let parameters = (ins "int64_t":$stage, "int64_t":$slot, DefaultValuedParameter<"int64_t", "-1">:$replica);
  let builders = [AttrBuilder<(ins "int64_t":$stage, "int64_t":$slot), [{
    return Base::get($_ctxt, stage, slot, -1);
  }]>];
  let extraClassDeclaration = [{
    bool hasReplica() const { return getReplica() >= 0; }
    std::string str() const;
    /// A role like `P0T1`, or nothing.
    static std::optional<RoleAttr> fromKeyword(::mlir::MLIRContext *context, ::llvm::StringRef text);
  }];
}

def Etc_StateAttr : Etc_Attr<"State", "state"> {
  let summary = "a workload type (wt): one kind of state that every tensor has";
  let description = [{
    Name and element type; `from` names the type that this one is cast from, bit for bit, after an optimizer step.

    Example: `#etc.state<param : bf16 from master>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::Type":$dtype,
                        "::mlir::StringAttr":$derivedFrom);
  let extraClassDeclaration = [{
    int64_t getBytes() const { return getDtype().getIntOrFloatBitWidth() / 8; }
  }];
}

def Etc_WorkloadAttr : Etc_Attr<"Workload", "workload"> {
  let summary = "a workload id (wid)";
  let description = [{
    A hierarchical name of state, as coarse as is exact; the dialect's description has the grammar. Slices and experts
    are half-open, [0, 0) stands for no selection. `box` is empty, [begin, end) along the axis that is cut, or three such
    pairs: before that axis, along it, and behind it.

    Example: `#etc.workload<L0..3.a>`, `#etc.workload<L2.e0..7>`,
    `#etc.workload<embed/embedding.word_embeddings.weight[0:128]>`
  }];
  let parameters = (ins "::etc::Part":$part, "int64_t":$firstLayer, "int64_t":$lastLayer,
                        "::etc::Span":$experts, "bool":$replicated, "::etc::Span":$slices,
                        "::mlir::StringAttr":$tensor, ArrayRefParameter<"int64_t">:$box);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasExperts() const { return !getExperts().empty(); }
    bool hasSlices() const { return !getSlices().empty(); }
    bool hasBox() const { return !getBox().empty(); }
    /// The body without `#etc.workload<>`, as ops print it.
    void printId(::mlir::AsmPrinter &printer) const;
    static ::mlir::FailureOr<WorkloadAttr> parseId(::mlir::AsmParser &parser);
  }];
}

def Etc_MatrixAttr : Etc_Attr<"Matrix", "matrix"> {
  let summary = "a matrix of integers that stays readable at any size";
  let description = [{
    Example: `#etc.matrix<[4, 4, 8, 8], [8, 8, 4, 4]>`
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns,
                        ArrayRefParameter<"int64_t">:$values);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t at(int64_t row, int64_t column) const {
      return getValues()[row * getColumns() + column];
    }
  }];
}

def Etc_ResourcesAttr : Etc_Attr<"Resources", "resources"> {
  let summary = "what the links and NICs of a cluster carry";
  let description = [{
    Bytes a second, of each direction, and the nanoseconds until the first byte arrives. A device has a link to the
    others of its node. A node of n devices has `nics` NICs, and its device i uses NIC i * nics / n: neighbours share
    one where there are fewer NICs than devices. `pack` is what a device packs, unpacks and copies. `acks` are the
    parts per million of a NIC's way back that acknowledgements take. `assumed` says that nobody named the cluster.
    The name is for people.

    Example: `#etc.resources<"h100" link 450000000000 after 5000 nics 8 of 50000000000 after 15000 pack 1300000000000>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$linkRate, "int64_t":$linkLatency, "int64_t":$nics,
                        "int64_t":$nicRate, "int64_t":$nicLatency, "int64_t":$packRate, "int64_t":$acks, "bool":$assumed);
  let genVerifyDecl = 1;
}

def Etc_StateArrayAttr : TypedArrayAttrBase<Etc_StateAttr, "workload types">;
def Etc_WorkloadArrayAttr : TypedArrayAttrBase<Etc_WorkloadAttr, "workload ids">;
def Etc_RoleArrayAttr : TypedArrayAttrBase<Etc_RoleAttr, "roles">;
def Etc_RoundListsAttr : TypedArrayAttrBase<DenseI64ArrayAttr, "lists of rounds">;
def Etc_DeviceListsAttr : TypedArrayAttrBase<DenseI64ArrayAttr, "parallel lists of devices">;

#endif // ETC_DIALECT_ATTRS_TD
