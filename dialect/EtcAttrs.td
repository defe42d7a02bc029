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
    Degrees of pipeline, tensor and data parallelism, in the paper's shorthand; an absent dimension is 1. Ranks follow
    Megatron's order: `rank = t + TP * (d + DP * p)`.

    Example: `#etc.parallel<PP4TP2DP3>`
  }];
  let parameters = (ins "int64_t":$pp, "int64_t":$tp, "int64_t":$dp);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getWorld() const { return getPp() * getTp() * getDp(); }
    /// PP x TP: what is left when data-parallel replicas are pooled.
    int64_t getRoles() const { return getPp() * getTp(); }
    /// "PP4TP2DP3"; dimensions of 1 are left out, all but the first.
    std::string str() const;
  }];
}

def Etc_RoleAttr : Etc_Attr<"Role", "role"> {
  let summary = "a place in the pipeline x tensor grid";
  let description = [{
    What every data-parallel replica of a virtual rank does alike: stage `P`, tensor rank `T`.

    Example: `#etc.role<P0T1>`
  }];
  let parameters = (ins "int64_t":$stage, "int64_t":$slice);
  let extraClassDeclaration = [{
    std::string str() const;
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
    A hierarchical name of state, as coarse as is exact; the dialect's description has the grammar. Slices are
    half-open, [0, 0) stands for all of them. Positions [0, 0) stand for all.

    Example: `#etc.workload<L0..3.a>`, `#etc.workload<embed/embedding.word_embeddings.weight[0:128]>`
  }];
  let parameters = (ins "::etc::Part":$part, "int64_t":$firstLayer, "int64_t":$lastLayer,
                        "bool":$replicated, "int64_t":$sliceBegin, "int64_t":$sliceEnd,
                        "::mlir::StringAttr":$tensor, "int64_t":$begin, "int64_t":$end);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool hasSlices() const { return getSliceBegin() != getSliceEnd(); }
    bool hasPositions() const { return getBegin() != getEnd(); }
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

def Etc_StateArrayAttr : TypedArrayAttrBase<Etc_StateAttr, "workload types">;
def Etc_WorkloadArrayAttr : TypedArrayAttrBase<Etc_WorkloadAttr, "workload ids">;
def Etc_DeviceListsAttr : TypedArrayAttrBase<DenseI64ArrayAttr, "parallel lists of devices">;

#endif // ETC_DIALECT_ATTRS_TD
