//===- PlanTables.cpp - The tables that all programs of a plan share ------===//

#include "PlanTables.h"

#include "dialect/NameMarks.h"

using namespace etc;
using namespace mlir;
namespace fb = etc::plan::fb;

static fb::DType toDType(Type type) {
  if (type.isBF16())
    return fb::DType::bf16;
  if (type.isF16())
    return fb::DType::fp16;
  if (type.isF32())
    return fb::DType::fp32;
  if (type.isF64())
    return fb::DType::fp64;
  return type.getIntOrFloatBitWidth() == 64 ? fb::DType::i64 : fb::DType::u8;
}

PlanTables::PlanTables(MigrationOp migration, const TensorTable &table,
                       fb::PlanT &plan)
    : migration(migration), table(table), plan(plan), boxes(plan.bounds) {
  for (unsigned tensor = 0; tensor < table.size(); ++tensor) {
    TensorOp op = table[tensor];
    const Piece whole = table.getWhole(tensor, 0, 0, Side::Curr);
    axes.push_back({llvm::SmallVector<int64_t, 3>(op.getShape()),
                    static_cast<unsigned>(op.getCutAxis()), whole.outer,
                    whole.inner});
    ranks.emplace_back(table.getTypeCount());
    uint32_t rank = 0;
    for (unsigned type : table.getTypes(tensor).set_bits())
      ranks.back()[type] = rank++;
  }
  numberTensors();
}

/// In forward order, layer by layer.
void PlanTables::numberTensors() {
  std::map<std::tuple<Part, int64_t, unsigned, int64_t>, Piece> ordered;
  for (unsigned tensor = 0; tensor < table.size(); ++tensor) {
    TensorOp op = table[tensor];
    if (!op.isOn(migration.getPrev()) && !op.isOn(migration.getCurr()))
      continue;
    Part part = table.getPart(tensor);
    int64_t layers = part == Part::Layer ? table.getLayers() : 1,
            experts = table.isOfExpert(tensor) ? table.getExperts() : 1;
    for (int64_t layer = 0; layer < layers; ++layer)
      if (table.isInLayer(tensor, layer))
        for (int64_t expert = 0; expert < experts; ++expert)
          ordered[{part, layer, tensor, expert}] = {tensor, layer, expert,
                                                    {},     {},    {}};
  }
  for (const auto &[key, piece] : ordered)
    addTensor(piece);
  Names byName;
  for (unsigned tensor = 0; tensor < table.size(); ++tensor)
    byName[TensorOp(table[tensor]).getName()].push_back(tensor);
  for (const auto &[key, piece] : ordered) {
    linkSources(piece, byName);
    linkPrimary(piece);
  }
}

/// A copy may come before the tensor that it is tied to.
void PlanTables::linkPrimary(Piece piece) {
  const Piece copy = piece;
  const std::optional<unsigned> primary = table.getPrimary(piece.tensor);
  if (!primary)
    return;
  piece.tensor = *primary;
  if (numbers.contains(keyOf(piece)))
    for (unsigned type : table.getTypes(copy.tensor).set_bits())
      plan.tensors[getTensor(copy, type)]->tied_to = getTensor(piece, type);
}

/// What a tensor is a cast of, also where that is laid out in another way.
void PlanTables::linkSources(const Piece &piece, const Names &byName) {
  auto states = llvm::to_vector(migration.getTypes().getAsRange<StateAttr>());
  for (unsigned type : table.getTypes(piece.tensor).set_bits()) {
    StringAttr name = states[type].getDerivedFrom();
    std::optional<unsigned> source;
    if (name)
      source = migration.lookupType(name);
    if (!source)
      continue;
    for (unsigned other : byName.at(TensorOp(table[piece.tensor]).getName())) {
      Piece origin{other, piece.layer, piece.expert, {}, {}, {}};
      if (table.getTypes(other).test(*source) &&
          numbers.contains(keyOf(origin)))
        plan.tensors[getTensor(piece, type)]->derived_from =
            getTensor(origin, *source);
    }
  }
}

/// The number of a name that stands for several tensors, or -1.
int32_t PlanTables::getPattern(StringRef name) {
  if (!name.contains(layerMark) && !name.contains(expertMark))
    return -1;
  auto [it, isNew] = patterns.try_emplace(name, plan.patterns.size());
  if (isNew)
    plan.patterns.push_back(name.str());
  return it->second;
}

void PlanTables::addTensor(const Piece &piece) {
  uint32_t number = plan.tensors.size();
  numbers[keyOf(piece)] = number;
  // Twins are equal element by element, so a tied copy has the shapes of its
  // primary on either side, also where it comes or goes.
  std::optional<unsigned> twin = table.getPrimary(piece.tensor);
  TensorOp primary = table[twin.value_or(piece.tensor)];
  ArrayRef<int64_t> shape = primary.getShape(),
                    prevShape = primary.getShapeOn(Side::Prev);
  auto states = llvm::to_vector(migration.getTypes().getAsRange<StateAttr>());
  for (unsigned type : table.getTypes(piece.tensor).set_bits()) {
    StateAttr state = states[type];
    auto entry = std::make_unique<fb::TensorT>();
    entry->name = table.getName(piece);
    entry->type = state.getName().str();
    entry->dtype = toDType(state.getDtype());
    entry->shape = shape;
    if (prevShape != shape)
      entry->prev_shape = prevShape;
    if (std::optional<ArrayRef<int64_t>> view = primary.getView())
      entry->view = *view;
    entry->pattern = getPattern(TensorOp(table[piece.tensor]).getName());
    entry->is_derived =
        table.getDerivationSource(piece.tensor, type).has_value();
    entry->deferred = table.isDeferred(type);
    plan.tensors.push_back(std::move(entry));
    types.push_back(type);
  }
}

uint32_t PlanTables::getBox(const Piece &piece) {
  const auto &[shape, cut, outer, inner] = axes[piece.tensor];
  Box box(shape.size());
  for (unsigned axis = 0; axis != shape.size(); ++axis) {
    box[axis] = axis < cut    ? piece.outer
                : axis == cut ? piece.cut
                              : piece.inner;
    // Several axes on one side of the cut are whole.
    if (axis != cut && box[axis] == (axis < cut ? outer : inner))
      box[axis] = {0, shape[axis]};
  }
  return boxes.add(box);
}

void PlanTables::listShards(ArrayRef<Piece> pieces,
                            const llvm::SmallBitVector &types,
                            std::vector<uint32_t> &list) {
  SmallVector<uint32_t, 1> shape;
  for (const Piece &piece : pieces)
    shape.push_back(getBox(piece));
  // One box is a shape of its own; several are numbered behind all bounds.
  const uint64_t number =
      shape.size() == 1
          ? shape[0]
          : shapes.try_emplace(shape, severalBoxes + shapes.size())
                .first->second;
  const uint32_t first = numbers.at(keyOf(pieces.front()));
  for (unsigned type : types.set_bits()) {
    const uint32_t tensor = first + ranks[pieces.front().tensor][type];
    auto [it, isNew] = shards.try_emplace({tensor, number}, plan.shards.size());
    if (isNew) {
      plan.shards.push_back(fb::Shard(tensor, plan.boxes.size(), shape.size()));
      llvm::append_range(plan.boxes, shape);
    }
    list.push_back(it->second);
  }
}
