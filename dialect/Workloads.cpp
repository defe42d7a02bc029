//===- Workloads.cpp - What workload ids stand for ------------------------===//

#include "dialect/Workloads.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace etc;
using namespace mlir;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// A shape as three axes: before the one that is cut, that one, and behind it.
static std::array<int64_t, 3> threeAxes(TensorOp tensor, Side side) {
  std::array<int64_t, 3> extents = {1, 1, 1};
  for (auto [axis, extent] : llvm::enumerate(tensor.getShapeOn(side))) {
    int64_t place = static_cast<int64_t>(axis) - tensor.getCutAxis();
    extents[place < 0 ? 0 : place == 0 ? 1 : 2] *= extent;
  }
  return extents;
}

/// Parameters, in one element type or several, and buffers.
static bool isOfModel(StringRef type) {
  return type == "param" || type.starts_with("param.") || type == "buffer";
}

TensorTable::TensorTable(MigrationOp migration)
    : migration(migration), sliceCounts{migration.getSliceCount(),
                                        migration.getExpertSliceCount()},
      layers(migration.getLayers()),
      experts(migration.getExperts().value_or(0)),
      gradientBytes(migration.getGradientBytes().value_or(0)) {
  for (auto [type, state] :
       llvm::enumerate(migration.getTypes().getAsRange<StateAttr>())) {
    typeBytes.push_back(state.getBytes());
    typeOf[state.getName()] = type;
    sourceTypes.push_back(migration.getDerivationSource(type));
  }
  deferred.resize(typeBytes.size());
  for (unsigned type = 0; type < typeBytes.size(); ++type)
    deferred[type] = migration.isDeferred(type);
  for (TensorOp tensor : migration.getOps<TensorOp>())
    addTensor(tensor);
  for (auto [info, tensor] : llvm::zip_equal(infos, tensors))
    if (std::optional<StringRef> primary = TensorOp(tensor).getTiedTo())
      for (auto [index, other] : llvm::enumerate(tensors))
        if (TensorOp(other).getName() == *primary &&
            infos[index].types == info.types)
          info.primary = index;
  addTwins();
}

void TensorTable::addTwins() {
  std::map<unsigned, SmallVector<unsigned>> groups; // by primary
  for (auto [index, info] : llvm::enumerate(infos))
    if (info.primary)
      groups[*info.primary].push_back(index);
  for (auto &[primary, group] : groups) {
    group.push_back(primary);
    llvm::sort(group);
    for (unsigned tensor : group)
      for (unsigned other : group)
        if (other != tensor)
          infos[tensor].twins.push_back(other);
  }
}

void TensorTable::addTensor(TensorOp tensor) {
  Info info;
  info.shortName = StringAttr::get(tensor.getContext(), tensor.getShortName());
  info.part = tensor.getPart();
  info.isSplit = tensor.getSplit().has_value();
  info.isOfExpert = tensor.isOfExpert();
  info.isFlat = tensor.getFlat();
  info.isPadded = tensor.getPrevShape().has_value();
  info.prevExtents = threeAxes(tensor, Side::Prev);
  info.currExtents = threeAxes(tensor, Side::Curr);
  if (std::optional<ArrayRef<int64_t>> range = tensor.getOfLayers())
    std::tie(info.firstLayer, info.endLayer) =
        std::pair((*range)[0], (*range)[1]);
  int64_t extent = info.currExtents[1], slices = sliceCounts[info.isOfExpert];
  if (info.isSplit && !info.isPadded && extent % slices == 0)
    info.slicePositions = extent / slices;
  info.types = getTypes(tensor.getTypes().value_or(ArrayAttr()));
  info.movedTypes = info.types;
  for (StringAttr name : {info.shortName, StringAttr()})
    byName[{info.part, name}].push_back(tensors.size());
  tensors.push_back(tensor);
  infos.push_back(info);
  Info &added = infos.back();
  for (unsigned type : info.types.set_bits()) {
    if (getDerivationSource(tensors.size() - 1, type))
      added.movedTypes.reset(type);
    else
      added.movedBytes += typeBytes[type];
    added.bytes += typeBytes[type];
    if (isDeferred(type))
      continue;
    added.hasGradient |= isOfModel(
        cast<StateAttr>(migration.getTypes()[type]).getName().getValue());
    if (added.movedTypes.test(type))
      added.urgentBytes += typeBytes[type];
  }
}

llvm::SmallBitVector TensorTable::getTypes(ArrayAttr names) const {
  llvm::SmallBitVector types(typeBytes.size(), !names);
  if (names)
    for (auto name : names.getAsRange<StringAttr>())
      if (auto type = typeOf.find(name); type != typeOf.end())
        types.set(type->second);
  return types;
}

ArrayAttr TensorTable::getTypeNames(const llvm::SmallBitVector &types) const {
  SmallVector<Attribute> names;
  for (unsigned type : types.set_bits())
    names.push_back(cast<StateAttr>(migration.getTypes()[type]).getName());
  return ArrayAttr::get(migration.getContext(), names);
}

std::optional<unsigned> TensorTable::getDerivationSource(unsigned tensor,
                                                         unsigned type) const {
  std::optional<unsigned> source = sourceTypes[type];
  return source && infos[tensor].types.test(*source) ? source : std::nullopt;
}

llvm::SmallBitVector TensorTable::getDerivedTypes(unsigned tensor) const {
  llvm::SmallBitVector types = infos[tensor].types;
  return types.reset(infos[tensor].movedTypes);
}

std::string TensorTable::getName(const Piece &piece) const {
  std::string name = TensorOp(tensors[piece.tensor]).getName().str();
  auto fill = [&](StringRef mark, int64_t number) {
    if (size_t at = name.find(mark.str()); at != std::string::npos)
      name.replace(at, mark.size(), std::to_string(number));
  };
  fill("{layer}", piece.layer);
  fill("{expert}", piece.expert);
  return name;
}

//===----------------------------------------------------------------------===//
// Ids to pieces
//===----------------------------------------------------------------------===//

static Span spanAt(ArrayRef<int64_t> box, size_t axis) {
  return {box[2 * axis], box[2 * axis + 1]};
}

void TensorTable::appendPieces(WorkloadAttr id, unsigned tensor,
                               SmallVectorImpl<Piece> &pieces) const {
  const Info &info = infos[tensor];
  if ((id.hasExperts() && !info.isOfExpert) ||
      (id.getReplicated() && info.isSplit) ||
      (id.hasSlices() && !info.slicePositions))
    return;
  // Slices and what is not sliced mean experts only where these are named.
  bool isPartial = id.getReplicated() || id.hasSlices();
  if (info.isOfExpert && !id.hasExperts() && isPartial && !id.getTensor())
    return;
  Piece piece = getWhole(tensor, 0, 0, Side::Curr);
  if (id.hasSlices())
    piece.cut = {id.getSlices().begin * info.slicePositions,
                 id.getSlices().end * info.slicePositions};
  ArrayRef<int64_t> box = id.getBox();
  if (box.size() == 2)
    piece.cut = spanAt(box, 0);
  else if (box.size() == 6)
    std::tie(piece.outer, piece.cut, piece.inner) =
        std::tuple(spanAt(box, 0), spanAt(box, 1), spanAt(box, 2));
  const Span ofExperts = !info.isOfExpert  ? Span{0, 1}
                         : id.hasExperts() ? id.getExperts()
                                           : Span{0, experts};
  for (piece.layer = id.getFirstLayer(); piece.layer <= id.getLastLayer();
       ++piece.layer)
    if (isInLayer(tensor, piece.layer))
      for (piece.expert = ofExperts.begin; piece.expert < ofExperts.end;
           ++piece.expert)
        pieces.push_back(piece);
}

SmallVector<Piece>
TensorTable::expand(WorkloadAttr id, const llvm::SmallBitVector &types) const {
  SmallVector<Piece> pieces;
  appendAll(id, types, pieces);
  return pieces;
}

void TensorTable::appendAll(WorkloadAttr id, const llvm::SmallBitVector &types,
                            SmallVectorImpl<Piece> &pieces) const {
  auto named = byName.find({id.getPart(), id.getTensor()});
  if (named == byName.end())
    return;
  for (unsigned tensor : named->second)
    if (!types.test(infos[tensor].types))
      appendPieces(id, tensor, pieces);
}

SmallVector<Piece>
TensorTable::expand(ArrayAttr ids, const llvm::SmallBitVector &types) const {
  SmallVector<Piece> pieces;
  for (auto id : ids.getAsRange<WorkloadAttr>())
    appendAll(id, types, pieces);
  return pieces;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

WorkloadVerifier::WorkloadVerifier(MigrationOp migration)
    : layers(migration.getLayers()),
      experts(migration.getExperts().value_or(0)),
      sliceCounts{migration.getSliceCount(), migration.getExpertSliceCount()} {
  for (TensorOp tensor : migration.getOps<TensorOp>()) {
    auto name = StringAttr::get(tensor.getContext(), tensor.getShortName());
    tensors[{tensor.getPart(), name}].push_back(tensor);
  }
}

/// The first range of a box that a tensor does not have, and the axis of it.
static std::optional<std::pair<Span, int64_t>>
findExcess(TensorOp tensor, ArrayRef<int64_t> box) {
  std::array<int64_t, 3> prev = threeAxes(tensor, Side::Prev),
                         curr = threeAxes(tensor, Side::Curr);
  for (size_t range = 0; range < box.size() / 2; ++range) {
    size_t axis = box.size() == 2 ? 1 : range;
    Span span = spanAt(box, range);
    int64_t extent = std::max(prev[axis], curr[axis]);
    if (span.end > extent)
      return std::pair(span, extent);
  }
  return std::nullopt;
}

/// The tensor that an id selects exists, and has the id's positions on one
/// side: of those of one name, whose types may differ in shape, at least one.
LogicalResult WorkloadVerifier::verifyTensor(Operation *op,
                                             WorkloadAttr id) const {
  auto named = tensors.find({id.getPart(), id.getTensor()});
  if (named == tensors.end())
    return op->emitOpError()
           << "no tensor '" << id.getTensor().getValue() << "' in the "
           << stringifyPart(id.getPart()) << " block";
  ArrayRef<int64_t> box = id.getBox();
  if (box.empty())
    return success();
  std::optional<std::pair<Span, int64_t>> excess;
  for (TensorOp tensor : named->second)
    if (excess = findExcess(tensor, box); !excess)
      return success();
  auto [span, extent] = *excess;
  return op->emitOpError() << "positions [" << span.begin << ":" << span.end
                           << "] exceed the " << extent << " of '"
                           << TensorOp(named->second.back()).getName() << "'";
}

LogicalResult WorkloadVerifier::verify(Operation *op, WorkloadAttr id) const {
  if (id.getPart() == Part::Layer && id.getLastLayer() >= layers)
    return op->emitOpError() << "layer " << id.getLastLayer()
                             << " is not in [0, " << layers << ")";
  if (id.getExperts().end > experts)
    return op->emitOpError() << "expert " << id.getExperts().end - 1
                             << " is not in [0, " << experts << ")";
  if (int64_t slices = sliceCounts[id.hasExperts()];
      id.getSlices().end > slices)
    return op->emitOpError()
           << "slice " << sliceName(id.getSlices().end - 1)
           << " is not one of the " << slices << " of LCM(TP, TP')";
  return id.getTensor() ? verifyTensor(op, id) : success();
}

LogicalResult WorkloadVerifier::verify(Operation *op, ArrayAttr ids) const {
  for (auto id : ids.getAsRange<WorkloadAttr>())
    if (failed(verify(op, id)))
      return failure();
  return success();
}
