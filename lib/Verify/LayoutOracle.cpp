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
  std::vector<Pieces> &listed = sides[static_cast<int>(side)].listed;
  listed.resize(parallel.getRoles());
  for (WorkloadOp workload : migration.getOps<WorkloadOp>())
    if (workload.getSide() == side)
      llvm::append_range(
          listed[parallel.getRoleIndex(workload.getRole())],
          table.expand(workload.getWid(),
                       table.getTypes(workload.getWt().value_or(ArrayAttr()))));
  for (Pieces &pieces : listed) {
    std::sort(pieces.begin(), pieces.end());
    if (side == Side::Prev)
      for (const Piece &piece : pieces)
        held.insert(piece.tensor);
  }
}

void LayoutOracle::readTensors(SideModel &model, Side side) const {
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

LayoutOracle::LayoutOracle(MigrationOp migration, const TensorTable &table)
    : table(table) {
  for (TensorOp tensor : table.getTensors())
    cutAxes.push_back(tensor.getCutAxis());
  for (Side side : {Side::Prev, Side::Curr}) {
    SideModel &model = sides[static_cast<int>(side)];
    ParallelAttr parallel = migration.getParallel(side);
    model.attr = parallel;
    model.parallel = toParallelism(parallel);
    model.model.layers = migration.getLayers();
    model.model.experts = migration.getExperts().value_or(0);
    model.model.types.resize(table.getTypeCount());
    readTensors(model, side);
    if (parallel.getInventory())
      readInventory(migration, side);
    else
      model.pools.resize(parallel.getPools());
  }
  sources.resize(table.size());
  for (unsigned tensor = 0; tensor < table.size(); ++tensor) {
    if (isOnPrev(tensor))
      sources[tensor].push_back(tensor);
    for (unsigned twin : table.getTwins(tensor))
      if (isOnPrev(twin))
        sources[tensor].push_back(twin);
  }
}

std::optional<Piece> LayoutOracle::wholeOnPrev(const Piece &piece) const {
  const ArrayRef<unsigned> found = sources[piece.tensor];
  if (found.empty())
    return std::nullopt;
  return table.getWhole(found.front(), piece.layer, piece.expert, Side::Prev);
}

/// A box of the planning shape as three axes.
Piece LayoutOracle::toPiece(const layout::HeldBox &held) const {
  Piece piece{held.tensor,
              std::max<int64_t>(0, held.layer),
              std::max<int64_t>(0, held.expert),
              {0, 1},
              {0, 1},
              {0, 1}};
  for (auto [axis, part] : llvm::enumerate(held.box)) {
    int64_t place = static_cast<int64_t>(axis) - cutAxes[held.tensor];
    Span &span = place < 0 ? piece.outer : place == 0 ? piece.cut : piece.inner;
    // Axes that share a place are whole, all but the first.
    span = {span.begin * part.size() + part.begin,
            (span.end - 1) * part.size() + part.end};
  }
  return piece;
}

LayoutOracle::Pieces
LayoutOracle::toPieces(ArrayRef<layout::HeldBox> boxes) const {
  Pieces pieces;
  pieces.reserve(boxes.size());
  for (const layout::HeldBox &held : boxes)
    pieces.push_back(toPiece(held));
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

const LayoutOracle::PoolPieces &LayoutOracle::getPool(const SideModel &side,
                                                      int64_t pool) const {
  std::optional<PoolPieces> &entry = side.pools[pool];
  if (!entry) {
    const int64_t slots = side.attr.getSlots();
    layout::PoolHoldings layout(side.model, side.parallel, pool / slots,
                                pool % slots);
    Pieces shared = toPieces(layout.getShared());
    entry.emplace(PoolPieces{std::move(layout), std::move(shared)});
  }
  return *entry;
}

ArrayRef<Piece> LayoutOracle::getShared(Side side, int64_t pool) const {
  const SideModel &model = getSide(side);
  return model.attr.getInventory() ? ArrayRef<Piece>()
                                   : getPool(model, pool).shared;
}

LayoutOracle::Pieces LayoutOracle::getOwn(Side side, int64_t role) const {
  const SideModel &model = getSide(side);
  if (model.attr.getInventory())
    return model.listed[role];
  const int64_t pool = model.attr.getPoolOf(role),
                replicas = model.attr.getRoles() / model.attr.getPools();
  return toPieces(getPool(model, pool).layout.getOwn(role % replicas));
}

LayoutOracle::Pieces LayoutOracle::holdings(Side side, int64_t role) const {
  const Pieces own = getOwn(side, role);
  const ArrayRef<Piece> shared =
      getShared(side, getSide(side).attr.getPoolOf(role));
  Pieces pieces(own.size() + shared.size());
  std::merge(own.begin(), own.end(), shared.begin(), shared.end(),
             pieces.begin());
  return pieces;
}

bool LayoutOracle::isOnPrev(unsigned tensor) const {
  const SideModel &prev = sides[0];
  if (prev.attr.getInventory())
    return held.contains(tensor);
  return model::existsOn(prev.model.tensors[tensor], prev.parallel);
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
