//===- EtcBase.td - The etc dialect, its enums and its type --*- tablegen -*-===//

#ifndef ETC_DIALECT_BASE_TD
#define ETC_DIALECT_BASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/AttrTypeBase.td"

def Etc_Dialect : Dialect {
  let name = "etc";
  let cppNamespace = "::etc";
  let summary = "Migrations of a training job's state between parallel configurations";
  let description = [{
    A module holds one or more `etc.migration` ops. A migration starts as a *request*: the previous and the current
    parallel configuration, the cluster, and the model as `etc.tensor` templates. Every pass moves it one stage on,
    by adding ops to its body, and the migration says its `stage`:

    | stage | ops |
    |---|---|
    | `request` (not printed) | `etc.migration`, `etc.tensor` |
    | `workloads` | `etc.workload` |
    | `costs` | `etc.cost_matrix`, `etc.overlap` |
    | `sketch` | `etc.pair`, `etc.certificate` |
    | `placement` | `etc.placement` |
    | `demands` | `etc.demands` with an `etc.demand` for what the same devices lack |
    | `routed` | `etc.time_bound` and `etc.transfers` with `etc.transfer`, in place of the demands |
    | `rounds` | `etc.schedule` with `etc.cut` |
    | `instructions` | `etc.program` with `etc.round`s of `etc.send`, `etc.recv`, `etc.refer`, `etc.derive`, `etc.zero`, `etc.release`, in place of the last two |
    | `proved` | nothing is added |

    The paper's method has three more: `paper_costs` before `costs`, `paper_sketch` after `sketch`, and `defragmented`
    after `placement`. A chain of migrations that became one is `coalesced` after `demands`.

    **Workload ids** name state as coarsely as is exact. `L0..3` is layers 0 to 3, `embed`, `final`, `head` and `mtp`
    are what stands before and after the layers. A suffix selects a part: `.a` is the first of LCM(TP, TP') slices of
    every tensor that tensor parallelism cuts (`.a..c` is slices a, b and c), `.*` is every tensor that it does not cut;
    neither includes experts. `L3.e0..7` is experts 0 to 7 of a layer, which the same suffixes divide by LCM(ETP, ETP').
    `/` selects one tensor, and `[8:16]` positions 8 to 15 along the axis that tensor parallelism cuts (axis 0 where
    it cuts none); `[0:2, 8:16, 0:100]` bounds what lies before and behind that axis as well, for a flat range is not
    always whole rows. So `L3.b/mlp.linear_fc1.weight` is one slice of one matrix. The layer prefix `L` is there because
    MLIR reads a bare `0..3` as a float. Beside a list of types, an id means the tensors that have all of these. The
    canonical form of a list of ids is the coarsest that means the same, in forward order.

    **Programs** stand for classes of devices: entry i of every list that is bound to a block argument is replica i.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = "void registerAttributes();";
}

def Etc_Side : I32EnumAttr<"Side", "before or after the migration", [
    I32EnumAttrCase<"Prev", 0, "prev">, I32EnumAttrCase<"Curr", 1, "curr">]> {
  let cppNamespace = "::etc";
}

def Etc_Part : I32EnumAttr<"Part", "part of the model, in forward order", [
    I32EnumAttrCase<"Embed", 0, "embed">, I32EnumAttrCase<"Layer", 1, "layer">,
    I32EnumAttrCase<"Final", 2, "final">, I32EnumAttrCase<"Head", 3, "head">,
    I32EnumAttrCase<"Mtp", 4, "mtp">]> {
  let cppNamespace = "::etc";
}

def Etc_Place : I32EnumAttr<"Place", "where roles may go", [
    I32EnumAttrCase<"Any", 0, "any">, I32EnumAttrCase<"Tp", 1, "tp">,
    I32EnumAttrCase<"Pack", 2, "pack">]> {
  let cppNamespace = "::etc";
}

def Etc_Direction : I32EnumAttr<"Direction", "which way bytes cross the border of some devices", [
    I32EnumAttrCase<"In", 0, "into">, I32EnumAttrCase<"Out", 1, "out_of">]> {
  let cppNamespace = "::etc";
}

def Etc_Level : I32EnumAttr<"Level", "where bytes are kept", [
    I32EnumAttrCase<"Device", 0, "device">, I32EnumAttrCase<"Node", 1, "node">]> {
  let cppNamespace = "::etc";
}

def Etc_Witness : I32EnumAttr<"Witness", "what bounds the time of all assignments of roles", [
    I32EnumAttrCase<"Each", 0, "each">, I32EnumAttrCase<"Others", 1, "others">,
    I32EnumAttrCase<"Fewest", 2, "fewest">]> {
  let cppNamespace = "::etc";
}

def Etc_CostUnit : I32EnumAttr<"CostUnit", "what a cost matrix counts", [
    I32EnumAttrCase<"Units", 0, "units">, I32EnumAttrCase<"Bytes", 1, "bytes">,
    I32EnumAttrCase<"Pp", 2, "pp">, I32EnumAttrCase<"Tp", 3, "tp">,
    I32EnumAttrCase<"Merged", 4, "merged">]> {
  let cppNamespace = "::etc";
}

def Etc_Policy : I32EnumAttr<"Policy", "whose method decides who takes which role", [
    I32EnumAttrCase<"Best", 0, "best">, I32EnumAttrCase<"Paper", 1, "paper">]> {
  let cppNamespace = "::etc";
}

def Etc_Stage : I32EnumAttr<"Stage", "how far a migration has come from request to plan", [
    I32EnumAttrCase<"Request", 0, "request">, I32EnumAttrCase<"Workloads", 1, "workloads">,
    I32EnumAttrCase<"PaperCosts", 2, "paper_costs">, I32EnumAttrCase<"Costs", 3, "costs">,
    I32EnumAttrCase<"Sketch", 4, "sketch">, I32EnumAttrCase<"PaperSketch", 5, "paper_sketch">,
    I32EnumAttrCase<"Placement", 6, "placement">, I32EnumAttrCase<"Defragmented", 7, "defragmented">,
    I32EnumAttrCase<"Demands", 8, "demands">, I32EnumAttrCase<"Coalesced", 9, "coalesced">,
    I32EnumAttrCase<"Routed", 10, "routed">, I32EnumAttrCase<"Rounds", 11, "rounds">,
    I32EnumAttrCase<"Instructions", 12, "instructions">, I32EnumAttrCase<"Proved", 13, "proved">]> {
  let cppNamespace = "::etc";
}

def Etc_DeviceType : TypeDef<Etc_Dialect, "Device"> {
  let mnemonic = "device";
  let summary = "a physical device, one for each replica of a program";
  let description = [{
    The type of a program's block arguments. Entry i of the bound list is the device that replica i means.

    Example: `!etc.device`
  }];
}

#endif // ETC_DIALECT_BASE_TD
