//===- Derivation.cpp - Types that are cast, not moved --------------------===//

#include "dialect/Etc.h"

using namespace etc;
using namespace mlir;

std::optional<unsigned> MigrationOp::lookupType(StringAttr name) {
  for (auto [type, state] : llvm::enumerate(getTypes().getAsRange<StateAttr>()))
    if (state.getName() == name)
      return type;
  return std::nullopt;
}

std::optional<unsigned> MigrationOp::getDerivationSource(unsigned type) {
  StringAttr source = cast<StateAttr>(getTypes()[type]).getDerivedFrom();
  return source && !getDeriveNone() ? lookupType(source) : std::nullopt;
}

bool MigrationOp::isDeferred(unsigned type) {
  return getDeferred() &&
         llvm::is_contained(*getDeferred(),
                            cast<StateAttr>(getTypes()[type]).getName());
}

LogicalResult MigrationOp::verifyDeferred() {
  if (getDeferred().has_value() != getGradientBytes().has_value())
    return emitOpError("states deferred types without the bytes of gradients, "
                       "or these without them");
  if (!getDeferred())
    return success();
  const ArrayAttr names = *getDeferred();
  for (Attribute name : names)
    if (!lookupType(cast<StringAttr>(name)))
      return emitOpError() << "defers " << name << ", which is no type";
  const unsigned types = getTypes().size();
  for (unsigned type = 0; type < types; ++type)
    if (getDerivationSource(type))
      return emitOpError()
             << "derives type '"
             << cast<StateAttr>(getTypes()[type]).getName().getValue()
             << "', though types are deferred";
  if (names.empty() || names.size() >= types)
    return emitOpError() << "expected between 1 and " << types - 1
                         << " deferred types, got " << names.size();
  return success();
}

LogicalResult MigrationOp::verifyDerivation(unsigned type) {
  auto state = cast<StateAttr>(getTypes()[type]);
  std::optional<unsigned> index;
  if (state.getDerivedFrom())
    index = lookupType(state.getDerivedFrom());
  if (!index)
    return success(); // it moves: there is nothing to cast it from
  auto source = cast<StateAttr>(getTypes()[*index]);
  StringRef name = state.getName().getValue(),
            from = source.getName().getValue();
  if (source.getDerivedFrom() && lookupType(source.getDerivedFrom()))
    return emitOpError() << "type '" << name << "' is derived from '" << from
                         << "', which is derived itself";
  bool isHalf = state.getDtype().isBF16() || state.getDtype().isF16();
  if (!source.getDtype().isF32() || !isHalf)
    return emitOpError() << "type '" << name << "' cannot be cast from "
                         << source.getDtype() << " to " << state.getDtype()
                         << ", only from f32 to bf16 or f16";
  return success();
}
