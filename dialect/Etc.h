//===- Etc.h - The etc dialect --------------------------------------------===//
//
// What a migration is: attributes, type and ops. Nothing here knows how to
// plan.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_DIALECT_ETC_H
#define ETC_DIALECT_ETC_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "etc/Geometry.h"

#include "dialect/EtcDialect.h.inc"
#include "dialect/EtcEnums.h.inc"

namespace etc {

/// Spans are parameters of attributes, whose hash mixes this one.
inline llvm::hash_code hash_value(Span span) {
  return static_cast<size_t>(span.begin) * 0x9E3779B97F4A7C15u +
         static_cast<size_t>(span.end);
}

} // namespace etc

#define GET_TYPEDEF_CLASSES
#include "dialect/EtcTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/EtcAttrs.h.inc"

#include "dialect/EtcInterfaces.h.inc"

namespace etc {

/// What a device held before, what it will hold, what it only passes on, and
/// what is under way.
struct PreviousState : mlir::SideEffects::Resource::Base<PreviousState> {
  llvm::StringRef getName() final { return "PreviousState"; }
};
struct CurrentState : mlir::SideEffects::Resource::Base<CurrentState> {
  llvm::StringRef getName() final { return "CurrentState"; }
};
struct TransitState : mlir::SideEffects::Resource::Base<TransitState> {
  llvm::StringRef getName() final { return "TransitState"; }
};
struct Network : mlir::SideEffects::Resource::Base<Network> {
  llvm::StringRef getName() final { return "Network"; }
};

} // namespace etc

#define GET_OP_CLASSES
#include "dialect/EtcOps.h.inc"

namespace etc {

/// "a" for 0, "z" for 25, "aa" for 26: how ids write a slice.
std::string sliceName(int64_t slice);

/// The inverse of `sliceName`, or nothing where `name` is no slice.
std::optional<int64_t> sliceNumber(llvm::StringRef name);

} // namespace etc

#endif // ETC_DIALECT_ETC_H
