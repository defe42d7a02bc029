//===- EtcInterfaces.td - Interfaces of the etc dialect ----*- tablegen -*-===//

#ifndef ETC_DIALECT_INTERFACES_TD
#define ETC_DIALECT_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Etc_WorkloadsOpInterface : OpInterface<"WorkloadsOpInterface"> {
  let cppNamespace = "::etc";
  let description = [{
    Names workloads (`wid`) of some types (`wt`). Where the order of the ids means nothing, they have a canonical form.
  }];
  let methods = [
    InterfaceMethod<"The workload ids.", "::mlir::ArrayAttr", "getWid">,
    InterfaceMethod<"The names of the workload types.", "::mlir::ArrayAttr", "getWt">,
    InterfaceMethod<"Replaces the workload ids.", "void", "setWidAttr", (ins "::mlir::ArrayAttr":$wid)>,
    InterfaceMethod<"Replaces the workload types.", "void", "setWtAttr", (ins "::mlir::ArrayAttr":$wt)>,
    InterfaceMethod<"Whether the order of the ids means something.", "bool", "isOrdered", (ins), "",
                    "return false;">,
  ];
}

def Etc_InstructionOpInterface : OpInterface<"InstructionOpInterface", [Etc_WorkloadsOpInterface]> {
  let cppNamespace = "::etc";
  let description = [{
    A migration instruction: the devices of a program do something to workloads (`wid`) of some types (`wt`).
  }];
}

def Etc_TransferOpInterface : OpInterface<"TransferOpInterface", [Etc_InstructionOpInterface]> {
  let cppNamespace = "::etc";
  let description = [{
    An instruction that is one end of bytes that go from one device to another.
  }];
  let methods = [
    InterfaceMethod<"The other end.", "::mlir::Value", "getPeer">,
    InterfaceMethod<"How often the bytes have been received before they are sent; none: they are of the previous state.",
                    "std::optional<uint64_t>", "getHop">,
    InterfaceMethod<"Whether this end only passes the bytes on: they are not of its current state.", "bool",
                    "getTransit">,
  ];
}

#endif // ETC_DIALECT_INTERFACES_TD
