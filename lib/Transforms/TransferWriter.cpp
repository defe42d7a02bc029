//===- TransferWriter.cpp - Demands become transfers ----------------------===//

#include "TransferWriter.h"

using namespace etc;
using namespace mlir;

ListedDemands::ListedDemands(DemandsOp list, const TensorTable &table,
                             const llvm::SmallBitVector &types) {
  for (DemandOp op : list.getBody().getOps<DemandOp>()) {
    Fragment fragment = inTypes(readFragment(op, table), types, table);
    if (fragment.types.none())
      continue;
    demands.add(fragments.emplace_back(std::move(fragment)), op.getDevices());
    opOf[&fragments.back()] = op;
  }
}

TransferWriter::TransferWriter(DemandsOp list, const TensorTable &table,
                               const Holdings &prev, const Devices &devices)
    : builder(list), loc(list.getLoc()), table(table), prev(prev),
      devices(devices) {
  auto transfers = TransfersOp::create(builder, loc);
  builder.setInsertionPointToEnd(&transfers.getBody().emplaceBlock());
}

/// The tensor that a source reads: all of a fragment is of one where any of it
/// is tied. A relay has what it received.
unsigned TransferWriter::tensorOf(const Source &source,
                                  const Fragment &fragment) const {
  const Piece &piece = fragment.pieces.front();
  return source.hop > 0
             ? piece.tensor
             : findRead(table, prev, devices.getPrevRole(source.device), piece);
}

/// One transfer for all destinations of a hop that keep what they receive, or
/// do not, from sources that read the same.
void TransferWriter::write(const Demand &demand, ArrayRef<Source> sources,
                           DemandOp op) {
  using Kind = std::tuple<unsigned, bool, bool, unsigned>;
  std::map<Kind, std::pair<SmallVector<int64_t>, SmallVector<int64_t>>> byHop;
  for (auto [source, destination] :
       llvm::zip_equal(sources, demand.destinations)) {
    auto &[from, to] = byHop[{source.hop, source.fromTransit, source.toTransit,
                              tensorOf(source, *demand.fragment)}];
    from.push_back(source.device);
    to.push_back(destination);
  }
  const Fragment &fragment = *demand.fragment;
  // What was neither cut nor is of fewer types is said already.
  const bool isSaid = op && table.getTypes(op.getWt()) == fragment.types;
  ArrayAttr ids = isSaid
                      ? op.getWid()
                      : foldWorkloads(table, llvm::to_vector(fragment.pieces),
                                      fragment.types),
            types = table.getTypeNames(fragment.types);
  for (const auto &[kind, ends] : byHop) {
    const auto [hop, fromTransit, toTransit, read] = kind;
    TransferOp::create(builder, loc, ids, types, ends.first, ends.second,
                       hop ? builder.getI64IntegerAttr(hop) : IntegerAttr(),
                       fromTransit, toTransit);
  }
}

void TransferWriter::write(const SourcedDemands &sourced,
                           const ListedDemands &listed) {
  for (size_t number = 0; number < sourced.demands.size(); ++number) {
    const Demand &demand = sourced.demands[number];
    write(demand, sourced.choice.sources[number],
          listed.opOf.lookup(demand.fragment));
  }
}
