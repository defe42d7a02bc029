//===- PlanTables.cpp - The tables that all programs of a plan share ------===//

#include "PlanTables.h"

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
    : migration(migration), table(table),
      typeCount(migration.getTypes().size()), plan(plan) {
  // Forward order, layer by layer.
  std::map<std::tuple<Part, int64_t, unsigned>, unsigned> ordered;
  for (auto [index, tensor] : llvm::enumerate(table.getTensors())) {
    Part part = TensorOp(tensor).getPart();
    int64_t count = part == Part::Layer ? migration.getLayers() : 1;
    for (int64_t layer = 0; layer < count; ++layer)
      ordered[{part, layer, static_cast<unsigned>(index)}] = index;
  }
  for (const auto &[key, tensor] : ordered)
    addTensor(tensor, std::get<1>(key));
}

void PlanTables::addTensor(unsigned tensor, int64_t layer) {
  uint32_t number = plan.tensors.size();
  first[{tensor, layer}] = number;
  // Twins are equal element by element, so a tied copy has the shapes of its
  // primary on either side, also where it comes or goes.
  std::optional<unsigned> twin = table.getTwin(tensor);
  TensorOp primary = table[twin.value_or(tensor)];
  ArrayRef<int64_t> shape = primary.getShape(),
                    prevShape = primary.getShapeOn(Side::Prev);
  auto states = migration.getTypes().getAsRange<StateAttr>();
  for (auto [type, state] : llvm::enumerate(states)) {
    auto entry = std::make_unique<fb::TensorT>();
    entry->name = table.getName({tensor, layer, 0, 0});
    entry->type = state.getName().str();
    entry->dtype = toDType(state.getDtype());
    entry->shape = shape;
    if (prevShape != shape)
      entry->prev_shape = prevShape;
    if (twin)
      entry->tied_to = first.at({*twin, layer}) + type;
    for (auto [source, other] : llvm::enumerate(states))
      if (state.getDerivedFrom() && other.getName() == state.getDerivedFrom())
        entry->derived_from = number + source;
    plan.tensors.push_back(std::move(entry));
  }
}

uint32_t PlanTables::getBox(const Piece &piece) {
  auto [it, isNew] = boxes.try_emplace({piece.tensor, piece.begin, piece.end},
                                       plan.bounds.size());
  if (!isNew)
    return it->second;
  TensorOp op = table[piece.tensor];
  for (auto [axis, extent] : llvm::enumerate(op.getShape())) {
    bool isCut = static_cast<int64_t>(axis) == op.getCutAxis();
    plan.bounds.push_back(isCut ? piece.begin : 0);
    plan.bounds.push_back(isCut ? piece.end : extent);
  }
  return it->second;
}

uint32_t PlanTables::getShard(const Piece &piece, unsigned type) {
  uint32_t tensor = getTensor(piece.tensor, piece.layer, type),
           box = getBox(piece);
  auto [it, isNew] = shards.try_emplace({tensor, box}, plan.shards.size());
  if (isNew) {
    plan.shards.push_back(fb::Shard(tensor, plan.boxes.size(), 1));
    plan.boxes.push_back(box);
  }
  return it->second;
}
