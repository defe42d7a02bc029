//===- EtcRequestOps.td - The request ----------------------*- tablegen -*-===//

#ifndef ETC_DIALECT_REQUEST_OPS_TD
#define ETC_DIALECT_REQUEST_OPS_TD

include "dialect/EtcOpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Etc_MigrationOp : Etc_Op<"migration", [IsolatedFromAbove, NoRegionArguments, NoTerminator,
                                           SingleBlock, Symbol, SymbolTable]> {
  let summary = "one migration, from request to plan";
  let description = [{
    Moves the state of a training job from the configuration `prev` to `curr`, on a cluster whose nodes have the
    listed numbers of devices. Devices are numbered through the cluster, node by node. `on` lists the device of every
    previous rank where it is not the rank's own number, `to ... on` fixes the devices of the current ranks; `failed`
    devices hold nothing any more, `draining` ones may send but take no role. `place` says where roles may go: `any`
    device (also where it is absent), tensor-parallel groups inside nodes (`tp`), or that on the fewest nodes (`pack`).
    Bytes of live state, staging included,
    stay below `budget_bytes`, or below `budget_ppm` millionths of the larger of a device's two states.
    `policy paper` says that the paper's method placed the roles. `resources` are the rates of links and NICs, which
    routes and the bound of their time need. `stage` is what the passes so far have made of it, the
    request where it is absent; each pass takes the migration at one stage and leaves it at the next. `vocab` is the rows of the vocabulary without padding:
    the next migration has to be of the same.

    A type with `from` is *derived* where the type it names is among `types`: it is not moved but cast again where its
    source lands, so it costs nothing to move. `derive none` moves it all the same; it is still known what it is cast
    from.

    The types of `defer` move after the pause, while the first step of the new configuration computes: in rounds behind
    those of all others. Beside them a device then has gradients of `gradients` bytes for each element of the model
    itself, of the types `param` (or `param.bf16` and the like) and `buffer`. A type that is deferred is not derived
    from, and none is derived.

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
                       OptionalAttr<DenseI64ArrayAttr>:$draining,
                       OptionalAttr<Etc_Place>:$place,
                       ConfinedAttr<I64Attr, [IntPositive]>:$layers,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$experts,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$vocab,
                       Etc_StateArrayAttr:$types, UnitAttr:$derive_none,
                       OptionalAttr<StrArrayAttr>:$deferred,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$gradient_bytes,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$budget_bytes,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>:$budget_ppm,
                       OptionalAttr<Etc_Policy>:$policy,
                       OptionalAttr<Etc_ResourcesAttr>:$resources,
                       DefaultValuedOptionalAttr<Etc_Stage, "::etc::Stage::Request">:$stage);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name custom<Parallel>($prev) (`on` $prev_devices^)? `to` custom<Parallel>($curr)
    (`on` $curr_devices^)? `nodes` $nodes (`failed` $failed^)? (`draining` $draining^)?
    (`place` $place^)?
    `layers` $layers (`experts` $experts^)? (`vocab` $vocab^)? `types` custom<States>($types) (`derive` `none` $derive_none^)?
    (`defer` custom<Types>($deferred)^ `gradients` $gradient_bytes)?
    (`policy` $policy^)? (`resources` `` $resources^)? (`stage` custom<Stage>($stage)^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The first device of a device's node that has the same NIC. There are resources.
    int64_t getFirstOfNic(int64_t device);
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
    /// Whether a type moves after the pause.
    bool isDeferred(unsigned type);
    /// What the type names as its source, if it is there, is one that the runtime can cast from.
    mlir::LogicalResult verifyDerivation(unsigned type);
    /// That the types which are deferred are some of the types, and that none is derived.
    mlir::LogicalResult verifyDeferred();
    /// Where the request has the first of these fields that it has (`curr.devices`), else where it begins.
    mlir::Location getFieldLoc(llvm::ArrayRef<llvm::StringRef> fields);
    /// An error at that place.
    mlir::InFlightDiagnostic emitFieldError(llvm::ArrayRef<llvm::StringRef> fields);
    /// The time that no routing of all that moves is below, or of what moves in the pause; null where none is stated.
    TimeBoundOp getTimeBound(bool ofPause);
    /// How many of the last rounds of all programs are deferred.
    int64_t countDeferredRounds();
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

#endif // ETC_DIALECT_REQUEST_OPS_TD
