//===- CheckTarget.cpp - Whether a target has room for all state ----------===//

#include "CheckTarget.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <tuple>

using namespace etc;
using namespace mlir;

/// The tensor of a layer and expert that a piece is a part of.
using Key = std::tuple<unsigned, int64_t, int64_t>;
using PiecesOf = std::map<Key, SmallVector<Piece>>;

static Key keyOf(const Piece &piece) {
  return {piece.tensor, piece.layer, piece.expert};
}

/// What the roles of a side hold of each tensor, without repeats, joined where
/// neighbours make one box.
static PiecesOf listedOn(MigrationOp migration, const TensorTable &table,
                         Side side) {
  PiecesOf held;
  for (WorkloadOp workload : migration.getOps<WorkloadOp>())
    if (workload.getSide() == side)
      for (const Piece &piece :
           table.expand(workload.getWid(),
                        table.getTypes(workload.getWt().value_or(ArrayAttr()))))
        held[keyOf(piece)].push_back(piece);
  for (auto &[key, pieces] : held) {
    std::sort(pieces.begin(), pieces.end());
    pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
    joinPieces(pieces);
  }
  return held;
}

/// All tensors of a side that is a configuration.
static PiecesOf wholeTensors(MigrationOp migration, const TensorTable &table,
                             Side side) {
  PiecesOf held;
  for (unsigned number = 0; number < table.size(); ++number) {
    TensorOp tensor = table[number];
    if (!tensor.isOn(migration.getParallel(side)))
      continue;
    const int64_t layers =
                      tensor.getPart() == Part::Layer ? table.getLayers() : 1,
                  experts = tensor.isOfExpert() ? table.getExperts() : 1;
    for (int64_t layer = 0; layer < layers; ++layer)
      if (table.isInLayer(number, layer))
        for (int64_t expert = 0; expert < experts; ++expert)
          held[{number, layer, expert}] = {
              table.getWhole(number, layer, expert, side)};
  }
  return held;
}

LogicalResult etc::checkTarget(MigrationOp migration,
                               const TensorTable &table) {
  if (!migration.getCurr().getInventory())
    return success();
  const PiecesOf taken = listedOn(migration, table, Side::Curr);
  const PiecesOf held = migration.getPrev().getInventory()
                            ? listedOn(migration, table, Side::Prev)
                            : wholeTensors(migration, table, Side::Prev);
  for (const auto &[key, pieces] : held) {
    const unsigned tensor = std::get<0>(key);
    if (table.getPrimary(tensor))
      continue; // its twin has the content
    auto found = taken.find(key);
    // Rows of padding are no state: the target may have fewer.
    const Piece whole = table.getWhole(tensor, pieces.front().layer,
                                       pieces.front().expert, Side::Curr);
    SmallVector<Piece> state;
    for (const Piece &piece : pieces)
      if (std::optional<Piece> inside = intersect(piece, whole))
        state.push_back(*inside);
    SmallVector<Piece> rest =
        found == taken.end() ? state : subtract(state, found->second);
    if (rest.empty())
      continue;
    auto type = cast<StateAttr>(
        migration.getTypes()[table.getTypes(tensor).find_first()]);
    return migration.emitFieldError({"curr"})
           << "no role takes " << rest.front().size() << " elements of '"
           << table.getName(rest.front()) << "' (" << type.getName().getValue()
           << "), which prev has; list them under a role, or leave the type "
              "out of the request";
  }
  return success();
}
