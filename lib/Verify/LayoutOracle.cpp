//===- LayoutOracle.cpp - What both sides hold, by lib/Layout -------------===//

#include "etc/Verify/LayoutOracle.h"

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

static request::Parallelism toParallelism(ParallelAttr parallel) {
  request::Parallelism result;
  result.pp = parallel.getPp();
  result.tp = parallel.getTp();
  result.dp = parallel.getDp();
  result.cp = parallel.getCp();
  result.ep = parallel.getEp();
  result.etp = parallel.getEtp();
  result.vpp = parallel.getVpp();
  if (parallel.getPpBeforeDp())
    result.order = request::RankOrder::TpCpEpPpDp;
  result.stages = parallel.getStages().vec();
  result.mtpStage = parallel.getMtpStage();
  result.distributedOptimizer = parallel.getZero1();
  result.bucketSize = parallel.getBucketSize();
  result.fsdp = parallel.getFsdp();
  return result;
}

/// An inventory is what it says: there is no other account of it.
void LayoutOracle::readInventory(MigrationOp migration, Side side) {
  ParallelAttr parallel = migration.getParallel(side);
  auto &listed = known[static_cast<int>(side)];
  for (WorkloadOp workload : migration.getOps<WorkloadOp>())
    if (workload.getSide() == side)
      llvm::append_range(
          listed[parallel.getRoleIndex(workload.getRole())],
          table.expand(workload.getWid(),
                       table.getTypes(workload.getWt().value_or(ArrayAttr()))));
  for (auto &pieces : listed) {
    std::sort(pieces.begin(), pieces.end());
    if (side == Side::Prev)
      for (const Piece &piece : pieces)
        held.insert(piece.tensor);
  }
}

LayoutOracle::LayoutOracle(MigrationOp migration, const TensorTable &table)
    : table(table) {
  for (Side side : {Side::Prev, Side::Curr}) {
    SideModel &model = sides[static_cast<int>(side)];
    ParallelAttr parallel = migration.getParallel(side);
    model.attr = parallel;
    model.parallel = toParallelism(parallel);
    known[static_cast<int>(side)].resize(parallel.getRoles());
    if (parallel.getInventory())
      readInventory(migration, side);
    model.model.layers = migration.getLayers();
    model.model.experts = migration.getExperts().value_or(0);
    model.model.types.resize(table.getTypeCount());
    for (TensorOp tensor : table.getTensors()) {
      model::TensorTemplate entry;
      entry.name = tensor.getName().str();
      entry.block = toBlock(tensor.getPart());
      entry.shape = tensor.getShapeOn(side).vec();
      if (tensor.getSplit())
        entry.splitAxis = *tensor.getSplit();
      if (tensor.getTiedTo())
        entry.tiedTo = tensor.getTiedTo()->str();
      entry.ofExpert = tensor.isOfExpert();
      entry.flat = tensor.getFlat();
      if (auto view = tensor.getView())
        entry.view = view->vec();
      if (auto layers = tensor.getOfLayers())
        entry.layers = Span{(*layers)[0], (*layers)[1]};
      if (auto types = tensor.getTypes())
        for (StringRef type : types->getAsValueRange<StringAttr>())
          entry.types.push_back(type.str());
      model.model.tensors.push_back(entry);
    }
  }
}

/// A box of the planning shape as three axes.
static Piece toPiece(TensorOp tensor, const layout::HeldBox &held) {
  Piece piece{held.tensor,
              std::max<int64_t>(0, held.layer),
              std::max<int64_t>(0, held.expert),
              {0, 1},
              {0, 1},
              {0, 1}};
  for (auto [axis, part] : llvm::enumerate(held.box)) {
    int64_t place = static_cast<int64_t>(axis) - tensor.getCutAxis();
    Span &span = place < 0 ? piece.outer : place == 0 ? piece.cut : piece.inner;
    // Axes that share a place are whole, all but the first.
    span = {span.begin * part.size() + part.begin,
            (span.end - 1) * part.size() + part.end};
  }
  return piece;
}

ArrayRef<Piece> LayoutOracle::holdings(Side side, int64_t role) const {
  const SideModel &model = sides[static_cast<int>(side)];
  SmallVector<Piece, 0> &pieces = known[static_cast<int>(side)][role];
  if (!pieces.empty() || model.attr.getInventory())
    return pieces;
  RoleAttr attr = model.attr.getRole(role);
  layout::Role wanted{attr.getStage(), attr.getSlot(),
                      std::max<int64_t>(0, attr.getReplica())};
  for (const layout::HeldBox &held :
       layout::holdings(model.model, model.parallel, wanted))
    pieces.push_back(toPiece(table[held.tensor], held));
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

bool LayoutOracle::isOnPrev(unsigned tensor) const {
  const SideModel &prev = sides[0];
  if (prev.attr.getInventory())
    return held.contains(tensor);
  return model::existsOn(prev.model.tensors[tensor], prev.parallel);
}

unsigned LayoutOracle::sourceOf(unsigned tensor) const {
  return isOnPrev(tensor) ? tensor : table.getTwin(tensor).value_or(tensor);
}

int64_t LayoutOracle::roleOfRank(ParallelAttr parallel, int64_t rank) {
  int64_t group = parallel.getTp() * parallel.getCp(), inner = rank % group,
          outer = rank / group, stage, replica;
  if (parallel.getPpBeforeDp())
    std::tie(stage, replica) =
        std::pair(outer % parallel.getPp(), outer / parallel.getPp());
  else
    std::tie(stage, replica) =
        std::pair(outer / parallel.getDp(), outer % parallel.getDp());
  int64_t number = inner + group * replica, slots = parallel.getSlots();
  return parallel.getRoleIndex(
      RoleAttr::get(parallel.getContext(), stage, number % slots,
                    parallel.hasRanges() ? number / slots : -1));
}
