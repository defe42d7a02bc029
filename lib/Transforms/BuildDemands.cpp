//===- BuildDemands.cpp - What devices lack, and who has it ---------------===//

#include "etc/Analysis/Fragments.h"
#include "etc/Analysis/MigrationFleet.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

#include <set>

namespace etc {
#define GEN_PASS_DEF_BUILDDEMANDSPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
struct BuildDemands : ::etc::impl::BuildDemandsPassBase<BuildDemands> {
  LogicalResult runOnMigration(MigrationOp migration) override;
};
} // namespace

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
static LogicalResult reportLost(MigrationOp migration, const TensorTable &table,
                                ArrayRef<const Fragment *> lost) {
  std::vector<std::string> tensors, roles;
  std::set<std::pair<Piece, SmallVector<unsigned>>> seen;
  int64_t bytes = 0;
  for (const Fragment *fragment : lost) {
    SmallVector<unsigned> types(fragment->types.set_bits());
    for (const Piece &piece : fragment->pieces) {
      tensors.push_back("'" + table.getName(piece) + "'");
      if (seen.insert({piece, types}).second)
        bytes += table.getMovedBytes(piece);
    }
    for (Holder holder : fragment->holders)
      roles.push_back(toRole(migration.getPrev(), holder).str());
  }
  InFlightDiagnostic diag = migration.emitFieldError({"failed", "prev"})
                            << "state is lost: no living device holds " << bytes
                            << " bytes of " << listFirst(tensors, "tensors");
  if (!roles.empty())
    diag << ", which were with " << listFirst(roles, "roles");
  return diag << "; restore them from a checkpoint";
}

static void createDemand(OpBuilder &builder, MigrationOp migration,
                         const TensorTable &table, const Fragment &fragment,
                         ArrayRef<int64_t> devices) {
  SmallVector<Attribute> holders;
  for (Holder holder : fragment.holders)
    holders.push_back(toRole(migration.getPrev(), holder));
  DemandOp::create(builder, migration.getFieldLoc({"curr"}),
                   foldInOrder(fragment, table),
                   table.getTypeNames(fragment.types), devices,
                   builder.getArrayAttr(holders));
}

/// The devices of equal needs that get the same from the same holders: nodes
/// may differ in twins.
static SmallVector<std::pair<ArrayRef<Fragment>, SmallVector<int64_t>>, 1>
groupByFragments(const Needs &needs, ArrayRef<int64_t> devices,
                 const Fleet &fleet, FragmentTable &fragments) {
  SmallVector<std::pair<ArrayRef<Fragment>, SmallVector<int64_t>>, 1> groups;
  for (int64_t device : devices) {
    const ArrayRef<Fragment> list = fragments.get(needs, fleet.getNode(device));
    auto it = llvm::find_if(groups, [&](const auto &group) {
      return group.first.data() == list.data();
    });
    if (it == groups.end()) {
      groups.push_back({list, {}});
      it = std::prev(groups.end());
    }
    it->second.push_back(device);
  }
  return groups;
}

LogicalResult BuildDemands::runOnMigration(MigrationOp migration) {
  const auto &table = getAnalysis<TensorTable>();
  const auto &needs = getAnalysis<DeviceNeeds>();
  const auto &fleet = getAnalysis<MigrationFleet>();
  if (!needs.getUnsourced().empty())
    return migration.emitFieldError({"prev"})
           << "'" << needs.getUnsourced()
           << "' does not exist in the previous state";
  // Devices of equal roles lack the same.
  llvm::MapVector<const Needs *, SmallVector<int64_t>> takers;
  for (int64_t device = 0; device < fleet.size(); ++device)
    for (const Needs *part : needs.get(device))
      if (part)
        takers[part].push_back(device);
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  auto list = DemandsOp::create(builder, migration.getFieldLoc({"curr"}));
  builder.setInsertionPointToEnd(&list.getBody().emplaceBlock());
  FragmentTable fragments(table, getAnalysis<BothHoldings>().prev, fleet);
  SmallVector<const Fragment *> lost;
  for (auto &[part, devices] : takers)
    for (auto &[list, alike] :
         groupByFragments(*part, devices, fleet, fragments))
      for (const Fragment &fragment : list) {
        if (fleet.findHolders(fragment).empty())
          lost.push_back(&fragment);
        else
          createDemand(builder, migration, table, fragment, alike);
        ++demands;
      }
  if (!lost.empty())
    return reportLost(migration, table, lost);
  markAnalysesPreserved<TensorTable, BothHoldings, Devices, DeviceNeeds,
                        MigrationFleet>();
  return success();
}
