//===- LayoutOracle.cpp - What both sides hold, by lib/Layout -------------===//

#include "etc/Transforms/LayoutOracle.h"

using namespace etc;
using namespace mlir;

static model::Block toBlock(Part part) {
  switch (part) {
  case Part::Embed:
    return model::Block::Embed;
  case Part::Layer:
    return model::Block::Layer;
  case Part::Final:
    return model::Block::Final;
  case Part::Head:
    return model::Block::Head;
  case Part::Mtp:
    return model::Block::Mtp;
  }
  llvm_unreachable("unknown part");
}

LayoutOracle::LayoutOracle(MigrationOp migration, const TensorTable &table)
    : table(table) {
  for (Side side : {Side::Prev, Side::Curr}) {
    SideModel &model = sides[static_cast<int>(side)];
    ParallelAttr parallel = migration.getParallel(side);
    model.parallel = {
        .pp = parallel.getPp(), .tp = parallel.getTp(), .dp = parallel.getDp()};
    model.model.layers = migration.getLayers();
    for (TensorOp tensor : table.getTensors()) {
      model::TensorTemplate entry;
      entry.name = tensor.getName().str();
      entry.block = toBlock(tensor.getPart());
      entry.shape = tensor.getShapeOn(side).vec();
      if (tensor.getSplit())
        entry.splitAxis = *tensor.getSplit();
      if (tensor.getTiedTo())
        entry.tiedTo = tensor.getTiedTo()->str();
      model.model.tensors.push_back(entry);
    }
  }
}

SmallVector<Piece> LayoutOracle::holdings(Side side, int64_t role) const {
  const SideModel &model = sides[static_cast<int>(side)];
  int64_t tp = model.parallel.tp;
  SmallVector<Piece> pieces;
  for (const layout::Piece &held :
       layout::holdings(model.model, model.parallel, {role / tp, role % tp})) {
    layout::Range range = held.box[TensorOp(table[held.tensor]).getCutAxis()];
    pieces.push_back({held.tensor, std::max<int64_t>(0, held.layer),
                      range.begin, range.end});
  }
  llvm::sort(pieces);
  return pieces;
}

bool LayoutOracle::isOnPrev(unsigned tensor) const {
  const SideModel &prev = sides[0];
  return model::existsOn(prev.model.tensors[tensor], prev.parallel);
}

unsigned LayoutOracle::sourceOf(unsigned tensor) const {
  return isOnPrev(tensor) ? tensor : table.getTwin(tensor).value_or(tensor);
}
