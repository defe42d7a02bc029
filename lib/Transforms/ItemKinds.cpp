//===- ItemKinds.cpp - Items that move alike ------------------------------===//

#include "ItemKinds.h"

#include <unordered_map>

using namespace etc;
using namespace mlir;

/// Most items of other kinds have another one.
static llvm::hash_code hashOf(ArrayRef<ItemFlow> flows) {
  llvm::hash_code hash = llvm::hash_value(flows.size());
  for (const ItemFlow &flow : flows) {
    hash = llvm::hash_combine(hash, flow.program, flow.allocated, flow.released,
                              flow.steps.size());
    for (const Step &step : flow.steps)
      hash = llvm::hash_combine(hash, step.instruction->action,
                                step.instruction->peer, step.piece->size());
  }
  return hash;
}

static bool areAlike(const ProgramFlows &flows, unsigned one, unsigned other,
                     ItemKinds::StepsAlike stepsAlike) {
  const TensorTable &table = flows.getTable();
  const unsigned tensor = flows.getTensor(one), peer = flows.getTensor(other);
  if (table.getTypes(tensor) != table.getTypes(peer))
    return false;
  if (tensor != peer)
    for (unsigned type : table.getTypes(tensor).set_bits())
      if (table.getDerivationSource(tensor, type) !=
          table.getDerivationSource(peer, type))
        return false;
  return llvm::equal(flows.getFlows(one), flows.getFlows(other),
                     [&](const ItemFlow &a, const ItemFlow &b) {
                       return a.isLike(b, stepsAlike);
                     });
}

ItemKinds::ItemKinds(const ProgramFlows &flows, StepsAlike stepsAlike) {
  // The first items of the kinds that have a hash.
  std::unordered_map<size_t, SmallVector<unsigned, 1>> firsts;
  kinds.reserve(flows.getItemCount());
  for (unsigned item = 0; item < flows.getItemCount(); ++item) {
    SmallVector<unsigned, 1> &known = firsts[hashOf(flows.getFlows(item))];
    const auto *first = llvm::find_if(known, [&](unsigned other) {
      return areAlike(flows, item, other, stepsAlike);
    });
    const bool isNew = first == known.end();
    kinds.push_back(isNew ? count++ : kinds[*first]);
    if (isNew)
      known.push_back(item);
  }
}
