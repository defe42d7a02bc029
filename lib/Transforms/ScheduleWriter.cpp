//===- ScheduleWriter.cpp - Rounds of items as cuts -----------------------===//

#include "ScheduleWriter.h"

#include "mlir/IR/Builders.h"

using namespace etc;
using namespace mlir;

ScheduleWriter::ScheduleWriter(const ProgramFlows &flows)
    : flows(flows), types(flows.getTable().getTypeCount()),
      cuts(static_cast<size_t>(flows.getItemCount()) * types) {}

void ScheduleWriter::add(unsigned item, const Portion &portion, int64_t round) {
  Cut &cut = cuts[static_cast<size_t>(item) * types + portion.type];
  if (portion.derives) {
    cut.derived = round;
    return;
  }
  cut.rounds.push_back(round);
  cut.chunks = portion.chunks;
}

/// In the order in which items first have a cut.
std::vector<ScheduleWriter::Group> ScheduleWriter::groupAlike() const {
  auto isLess = [](const Cut *a, const Cut *b) { return *a < *b; };
  std::map<const Cut *, size_t, decltype(isLess)> numbers(isLess);
  std::vector<Group> groups;
  // Neighbours are often alike.
  std::vector<size_t> last(types);
  for (unsigned item = 0; item < flows.getItemCount(); ++item)
    for (unsigned type = 0; type < types; ++type) {
      const Cut &cut = cuts[static_cast<size_t>(item) * types + type];
      if (cut.rounds.empty())
        continue;
      size_t &number = last[type];
      if (groups.empty() || *groups[number].cut != cut) {
        auto [entry, isNew] = numbers.try_emplace(&cut, groups.size());
        if (isNew)
          groups.push_back(
              {&cut, std::vector<SmallVector<unsigned, 0>>(types)});
        number = entry->second;
      }
      groups[number].items[type].push_back(item);
    }
  return groups;
}

/// One op for all types of the same items.
void ScheduleWriter::writeGroup(OpBuilder &builder, Location loc,
                                const Group &group) const {
  SmallVector<Attribute> rounds;
  for (ArrayRef<int64_t> rest = group.cut->rounds; !rest.empty();
       rest = rest.drop_front(group.cut->chunks))
    rounds.push_back(
        builder.getDenseI64ArrayAttr(rest.take_front(group.cut->chunks)));
  IntegerAttr derived = group.cut->derived < 0
                            ? IntegerAttr()
                            : builder.getI64IntegerAttr(group.cut->derived);
  llvm::SmallBitVector written(types);
  for (unsigned type = 0; type < types; ++type) {
    ArrayRef<unsigned> items = group.items[type];
    if (items.empty() || written.test(type))
      continue;
    llvm::SmallBitVector alike(types);
    for (unsigned other = type; other < types; ++other)
      if (items == ArrayRef<unsigned>(group.items[other]))
        alike.set(other);
    written |= alike;
    SmallVector<Piece> pieces;
    for (unsigned item : items)
      pieces.push_back(flows.getWhole(item));
    const TensorTable &table = flows.getTable();
    CutOp::create(builder, loc, foldWorkloads(table, std::move(pieces), alike),
                  table.getTypeNames(alike), builder.getArrayAttr(rounds),
                  derived);
  }
}

void ScheduleWriter::write(MigrationOp migration) const {
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  const Location loc = migration.getFieldLoc({"memory_budget", "curr"});
  auto schedule = ScheduleOp::create(builder, loc);
  builder.setInsertionPointToEnd(&schedule.getBody().emplaceBlock());
  for (const Group &group : groupAlike())
    writeGroup(builder, loc, group);
}
