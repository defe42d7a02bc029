//===- EtcDialect.cpp - Registration of the etc dialect -------------------===//

#include "dialect/Etc.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace etc;
using namespace mlir;

#include "dialect/EtcDialect.cpp.inc"
#include "dialect/EtcEnums.cpp.inc"
#include "dialect/EtcInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/EtcTypes.cpp.inc"

void EtcDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/EtcTypes.cpp.inc"
      >();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialect/EtcOps.cpp.inc"
      >();
}
