//===- Workloads.cpp - What workload ids stand for ------------------------===//

#include "dialect/Workloads.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace etc;
using namespace mlir;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

TensorTable::TensorTable(MigrationOp migration)
    : sliceCount(migration.getSliceCount()),
      movedBytesPerElement(migration.getMovedBytesPerElement()) {
  for (auto state : migration.getTypes().getAsRange<StateAttr>())
    bytesPerElement += state.getBytes();
  for (TensorOp tensor : migration.getOps<TensorOp>()) {
    int64_t extent = tensor.getShape()[tensor.getCutAxis()], count = 1;
    for (int64_t n : tensor.getShape())
      count *= n;
    bool sliced =
        tensor.getSplit() && !tensor.getPrevShape() && extent % sliceCount == 0;
    tensors.push_back(tensor);
    shortNames.push_back(
        StringAttr::get(migration.getContext(), tensor.getShortName()));
    parts.push_back(tensor.getPart());
    split.push_back(tensor.getSplit().has_value());
    elements.push_back(count / extent);
    slicePositions.push_back(sliced ? extent / sliceCount : 0);
  }
}

std::optional<unsigned> TensorTable::lookup(StringRef name) const {
  for (auto [index, tensor] : llvm::enumerate(tensors))
    if (TensorOp(tensor).getName() == name)
      return index;
  return std::nullopt;
}

std::optional<unsigned> TensorTable::getTwin(unsigned tensor) const {
  std::optional<StringRef> twin = TensorOp(tensors[tensor]).getTiedTo();
  return twin ? lookup(*twin) : std::nullopt;
}

int64_t TensorTable::getExtent(unsigned tensor, Side side) const {
  TensorOp op = tensors[tensor];
  return op.getShapeOn(side)[op.getCutAxis()];
}

std::string TensorTable::getName(const Piece &piece) const {
  TensorOp tensor = tensors[piece.tensor];
  std::string name = tensor.getName().str();
  if (tensor.getPart() != Part::Layer)
    return name;
  constexpr StringLiteral mark = "{layer}";
  return name.replace(name.find(mark.str()), mark.size(),
                      std::to_string(piece.layer));
}

//===----------------------------------------------------------------------===//
// Ids to pieces
//===----------------------------------------------------------------------===//

void TensorTable::appendPiece(WorkloadAttr id, unsigned tensor,
                              SmallVectorImpl<Piece> &pieces) const {
  if (parts[tensor] != id.getPart() ||
      (id.getTensor() && id.getTensor() != shortNames[tensor]))
    return;
  if ((id.getReplicated() && split[tensor]) ||
      (id.hasSlices() && !slicePositions[tensor]))
    return;
  int64_t begin = 0, end = getExtent(tensor, Side::Curr);
  if (id.hasPositions()) {
    begin = id.getBegin();
    end = id.getEnd();
  } else if (id.hasSlices()) {
    begin = id.getSliceBegin() * slicePositions[tensor];
    end = id.getSliceEnd() * slicePositions[tensor];
  }
  for (int64_t layer = id.getFirstLayer(); layer <= id.getLastLayer(); ++layer)
    pieces.push_back({tensor, layer, begin, end});
}

SmallVector<Piece> TensorTable::expand(WorkloadAttr id) const {
  SmallVector<Piece> pieces;
  for (unsigned tensor = 0; tensor < tensors.size(); ++tensor)
    appendPiece(id, tensor, pieces);
  return pieces;
}

SmallVector<Piece> TensorTable::expand(ArrayAttr ids) const {
  SmallVector<Piece> pieces;
  for (auto id : ids.getAsRange<WorkloadAttr>())
    llvm::append_range(pieces, expand(id));
  return pieces;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// The tensor that an id selects exists, and has the id's positions on one
/// side.
static LogicalResult
verifyTensor(MigrationOp migration, WorkloadAttr id,
             function_ref<InFlightDiagnostic()> emitError) {
  for (TensorOp tensor : migration.getOps<TensorOp>()) {
    if (tensor.getPart() != id.getPart() ||
        tensor.getShortName() != id.getTensor().getValue())
      continue;
    int64_t axis = tensor.getCutAxis();
    int64_t extent = std::max(tensor.getShapeOn(Side::Prev)[axis],
                              tensor.getShapeOn(Side::Curr)[axis]);
    if (id.getEnd() <= extent)
      return success();
    return emitError() << "positions [" << id.getBegin() << ":" << id.getEnd()
                       << "] exceed the " << extent << " of '"
                       << tensor.getName() << "'";
  }
  return emitError() << "no tensor '" << id.getTensor().getValue()
                     << "' in the " << stringifyPart(id.getPart()) << " block";
}

LogicalResult
etc::verifyWorkload(MigrationOp migration, WorkloadAttr id,
                    function_ref<InFlightDiagnostic()> emitError) {
  int64_t layers = migration.getLayers(), slices = migration.getSliceCount();
  if (id.getPart() == Part::Layer && id.getLastLayer() >= layers)
    return emitError() << "layer " << id.getLastLayer() << " is not in [0, "
                       << layers << ")";
  if (id.getSliceEnd() > slices)
    return emitError() << "slice " << sliceName(id.getSliceEnd() - 1)
                       << " is not one of the " << slices << " of LCM(TP, TP')";
  return id.getTensor() ? verifyTensor(migration, id, emitError) : success();
}
