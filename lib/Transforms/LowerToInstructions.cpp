//===- LowerToInstructions.cpp - Send, Recv and Refer ---------------------===//

#include "DeviceClasses.h"
#include "etc/Analysis/Devices.h"
#include "etc/Analysis/MigrationFleet.h"
#include "etc/Analysis/Needs.h"
#include "etc/Optimize/Sources/Solver.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <set>

namespace etc {
#define GEN_PASS_DEF_LOWERTOINSTRUCTIONSPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
/// For every device, the exchanges with each of its peers.
using ExchangeMap = SmallVector<std::map<int64_t, SmallVector<Exchange>>>;

/// Lowers one migration.
class Lowering {
public:
  Lowering(MigrationOp migration, PlacementOp placement, bool byTime);
  LogicalResult planTransfers();
  /// Adds the programs and returns their number.
  int64_t createPrograms();

private:
  LogicalResult findDemands();
  LogicalResult reportLost();
  void addExchanges(ArrayRef<SourceList> sources);
  Behaviour behaviourOf(int64_t device, SmallVectorImpl<int64_t> &peers) const;
  void createProgram(const Behaviour &behaviour, const ClassMembers &members);
  void createLocalOps(Location loc, const Behaviour &behaviour, Value self);
  template <typename Create>
  void createByTypes(ArrayRef<Piece> pieces, bool derived, Create create);
  void createTransfer(Location loc, const Exchange &exchange, Value self,
                      Value peer);
  std::string nameOf(RoleAttr curr, RoleAttr prev);
  RoleAttr roleAttr(const Holdings &side, int64_t role) const {
    return role < 0 ? RoleAttr() : side.getRole(role);
  }

  const bool byTime;
  MigrationOp migration;
  MLIRContext *context;
  OpBuilder builder;
  TensorTable table;
  Holdings prev, curr;
  Devices devices;
  NeedsTable needs;
  MigrationFleet fleet;
  Demands demands;
  SmallVector<int64_t> currRole;
  ExchangeMap exchanges;
  llvm::StringMap<int64_t> names;
};

struct LowerToInstructions
    : ::etc::impl::LowerToInstructionsPassBase<LowerToInstructions> {
  using LowerToInstructionsPassBase::LowerToInstructionsPassBase;

  LogicalResult runOnMigration(MigrationOp migration) override {
    Lowering lowering(migration, migration.getOnly<PlacementOp>(), byTime);
    if (failed(lowering.planTransfers()))
      return failure();
    programs += lowering.createPrograms();
    return success();
  }
};
} // namespace

Lowering::Lowering(MigrationOp migration, PlacementOp placement, bool byTime)
    : byTime(byTime), migration(migration), context(migration.getContext()),
      builder(OpBuilder::atBlockEnd(&migration.getBody().front())),
      table(migration), prev(migration, table, Side::Prev),
      curr(migration, table, Side::Curr), devices(migration),
      needs(table, prev, curr), fleet(migration), currRole(devices.size(), -1),
      exchanges(devices.size()) {
  for (auto [rank, device] : llvm::enumerate(placement.getDevices()))
    currRole[device] = placeOfRank(migration.getCurr(), rank).role;
}

//===----------------------------------------------------------------------===//
// Who sends what to whom
//===----------------------------------------------------------------------===//

/// "'a', 'b' and 3 more tensors", from names that may repeat.
static std::string listFirst(ArrayRef<std::string> names, StringRef noun) {
  constexpr size_t shown = 4;
  std::set<StringRef> seen;
  std::string text;
  for (const std::string &name : names)
    if (seen.insert(name).second && seen.size() <= shown)
      text += (text.empty() ? "" : ", ") + name;
  if (seen.size() > shown)
    text +=
        " and " + std::to_string(seen.size() - shown) + " more " + noun.str();
  return text;
}

/// Names what nobody alive holds: bytes, tensors, and the roles that had them.
LogicalResult Lowering::reportLost() {
  std::vector<std::string> tensors, roles;
  std::set<std::pair<Piece, SmallVector<unsigned>>> seen;
  int64_t bytes = 0;
  for (const Fragment &fragment : needs.getFragments()) {
    if (!fleet.findHolders(fragment).empty())
      continue;
    SmallVector<unsigned> types(fragment.types.set_bits());
    for (const Piece &piece : fragment.pieces) {
      tensors.push_back("'" + table.getName(piece) + "'");
      if (seen.insert({piece, types}).second)
        bytes += table.getMovedBytes(piece);
    }
    for (Holder holder : fragment.holders)
      roles.push_back((holder.isPool ? prev.getPoolRole(holder.number)
                                     : prev.getRole(holder.number))
                          .str());
  }
  InFlightDiagnostic diag = migration.emitFieldError({"failed", "prev"})
                            << "state is lost: no living device holds " << bytes
                            << " bytes of " << listFirst(tensors, "tensors");
  if (!roles.empty())
    diag << ", which were with " << listFirst(roles, "roles");
  return diag << "; restore them from a checkpoint";
}

LogicalResult Lowering::findDemands() {
  std::vector<SmallVector<int64_t>> destinations;
  for (int64_t device = 0; device < devices.size(); ++device) {
    if (currRole[device] < 0)
      continue;
    std::optional<NeedsTable::Parts> parts =
        needs.get(currRole[device], devices.getPrevRole(device));
    if (!parts)
      return migration.emitFieldError({"prev"})
             << "'" << needs.getUnsourced()
             << "' does not exist in the previous state";
    destinations.resize(needs.getFragments().size());
    for (const Needs *wanted : *parts)
      for (unsigned number : wanted->missing)
        destinations[number].push_back(device);
  }
  for (auto [fragment, devices] :
       llvm::zip_equal(needs.getFragments(), destinations)) {
    if (fleet.findHolders(fragment).empty())
      return reportLost();
    demands.add(fragment, devices);
  }
  return success();
}

void Lowering::addExchanges(ArrayRef<SourceList> sources) {
  for (unsigned number : demands.inOrder(prev.hasRanges()))
    for (auto [destination, source] :
         llvm::zip_equal(demands[number].destinations, sources[number])) {
      exchanges[destination][source.device].push_back(
          {/*receives=*/true, number, source.hop});
      exchanges[source.device][destination].push_back(
          {/*receives=*/false, number, source.hop});
    }
}

LogicalResult Lowering::planTransfers() {
  if (failed(findDemands()))
    return failure();
  SourcedDemands sourced =
      migration.getPolicy() == Policy::Paper
          ? solveInTurn(std::move(demands), fleet)
          : solveSources(std::move(demands), fleet, byTime);
  demands = std::move(sourced.demands);
  addExchanges(sourced.choice.sources);
  return success();
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// What the device does, and with whom, peers in the behaviour's order.
Behaviour Lowering::behaviourOf(int64_t device,
                                SmallVectorImpl<int64_t> &peers) const {
  Behaviour behaviour{currRole[device], devices.getPrevRole(device), {}};
  SmallVector<std::pair<SmallVector<Exchange>, int64_t>> ordered;
  for (const auto &[peer, list] : exchanges[device]) {
    ordered.emplace_back(list, peer);
    llvm::sort(ordered.back().first);
  }
  llvm::sort(ordered);
  for (auto &[list, peer] : ordered) {
    behaviour.peers.push_back(std::move(list));
    peers.push_back(peer);
  }
  return behaviour;
}

/// "P0T0 <- P1T0", numbered from the second class of the same roles on.
std::string Lowering::nameOf(RoleAttr curr, RoleAttr prev) {
  std::string name =
      (curr ? curr.str() : "none") + " <- " + (prev ? prev.str() : "none");
  int64_t count = ++names[name];
  return count == 1 ? name : name + " #" + std::to_string(count);
}

void Lowering::createTransfer(Location loc, const Exchange &exchange,
                              Value self, Value peer) {
  const Fragment &fragment = *demands[exchange.fragment].fragment;
  ArrayAttr ids = foldWorkloads(table, llvm::to_vector(fragment.pieces),
                                fragment.types),
            types = table.getTypeNames(fragment.types);
  // A relay has the copy itself.
  IntegerAttr hop =
      exchange.hop > 0 ? builder.getI64IntegerAttr(exchange.hop) : nullptr;
  const bool tied = fragment.tied && !hop;
  if (exchange.receives)
    RecvOp::create(builder, loc, ids, types, peer, self, tied, hop);
  else
    SendOp::create(builder, loc, ids, types, self, peer, tied, hop);
}

/// One instruction for all tensors that have the same types, of all or of those
/// that are derived.
template <typename Create>
void Lowering::createByTypes(ArrayRef<Piece> pieces, bool derived,
                             Create create) {
  std::map<SmallVector<unsigned>, SmallVector<Piece>> byTypes;
  for (const Piece &piece : pieces) {
    llvm::SmallBitVector types = derived ? table.getDerivedTypes(piece.tensor)
                                         : table.getTypes(piece.tensor);
    if (types.any())
      byTypes[SmallVector<unsigned>(types.set_bits())].push_back(piece);
  }
  for (auto &[numbers, list] : byTypes) {
    llvm::SmallBitVector types(table.getTypeCount());
    for (unsigned type : numbers)
      types.set(type);
    create(foldWorkloads(table, list, types), table.getTypeNames(types));
  }
}

void Lowering::createLocalOps(Location loc, const Behaviour &behaviour,
                              Value self) {
  if (behaviour.curr < 0)
    return;
  NeedsTable::Parts parts = *needs.get(behaviour.curr, behaviour.prev);
  for (const Needs *part : parts) {
    auto refer = [&](bool tied) {
      return [&, tied](ArrayAttr ids, ArrayAttr types) {
        ReferOp::create(builder, loc, ids, types, self, tied);
      };
    };
    createByTypes(part->kept, /*derived=*/false, refer(false));
    createByTypes(part->keptTied, /*derived=*/false, refer(true));
    createByTypes(part->lacking, /*derived=*/true,
                  [&](ArrayAttr ids, ArrayAttr types) {
                    DeriveOp::create(builder, loc, ids, types, self);
                  });
    createByTypes(part->zeroed, /*derived=*/false,
                  [&](ArrayAttr ids, ArrayAttr types) {
                    ZeroOp::create(builder, loc, ids, types, self);
                  });
  }
}

void Lowering::createProgram(const Behaviour &behaviour,
                             const ClassMembers &members) {
  SmallVector<Attribute> bindings = {
      builder.getDenseI64ArrayAttr(members.devices)};
  for (ArrayRef<int64_t> peer : members.peers)
    bindings.push_back(builder.getDenseI64ArrayAttr(peer));
  RoleAttr currAttr = roleAttr(curr, behaviour.curr),
           prevAttr = roleAttr(prev, behaviour.prev);
  // Whoever takes no role is there for what it had.
  Location loc = migration.getFieldLoc({currAttr ? "curr" : "prev"});
  auto program = ProgramOp::create(
      builder, loc, builder.getStringAttr(nameOf(currAttr, prevAttr)), currAttr,
      prevAttr, builder.getArrayAttr(bindings), {}, {}, {}, {});
  mlir::Block &body = program.getBody().emplaceBlock();
  for (size_t i = 0; i < bindings.size(); ++i)
    body.addArgument(builder.getType<DeviceType>(), loc);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&body);
  createLocalOps(loc, behaviour, body.getArgument(0));
  for (auto [index, list] : llvm::enumerate(behaviour.peers))
    for (const Exchange &exchange : list)
      createTransfer(loc, exchange, body.getArgument(0),
                     body.getArgument(index + 1));
}

int64_t Lowering::createPrograms() {
  std::map<Behaviour, ClassMembers> classes;
  for (int64_t device = 0; device < devices.size(); ++device) {
    if (currRole[device] < 0 && devices.getPrevRole(device) < 0)
      continue;
    SmallVector<int64_t> peers;
    ClassMembers &members = classes[behaviourOf(device, peers)];
    members.devices.push_back(device);
    members.peers.resize(peers.size());
    for (auto [list, peer] : llvm::zip_equal(members.peers, peers))
      list.push_back(peer);
  }
  // Devices without a current role only give; they come last.
  auto isIdle = [](const auto &entry) { return entry.first.curr < 0; };
  for (bool idle : {false, true})
    for (const auto &entry : classes)
      if (isIdle(entry) == idle)
        createProgram(entry.first, entry.second);
  return classes.size();
}
