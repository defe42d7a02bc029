//===- ModuleOrder.cpp - Parameters in the order of modules ---------------===//

#include "ModuleOrder.h"

using namespace etc;
using llvm::ArrayRef;

void ModuleOrder::addShard(unsigned tensor, int64_t layer, int64_t expert) {
  TensorOp op = table[tensor];
  if (!op.getFlat() || !op.isOn(parallel) || !table.isInLayer(tensor, layer))
    return;
  if (!shards.empty()) {
    auto &[last, tensors] = shards.back();
    if (last.layer == layer && last.expert == expert &&
        last.tensor + tensors == tensor &&
        TensorOp(table[last.tensor]).getName() == op.getName()) {
      ++tensors;
      return;
    }
  }
  Piece shard = table.getWhole(tensor, layer, expert, side);
  if (table.isSplit(tensor)) {
    int64_t tp =
        table.isOfExpert(tensor) ? parallel.getEtp() : parallel.getTp();
    int64_t share = shard.cut.size() / tp, rank = role.getSlot() % tp;
    shard.cut = {share * rank, share * (rank + 1)};
  }
  shards.push_back({shard});
}

ModuleOrder::Run
ModuleOrder::runFrom(unsigned tensor,
                     llvm::function_ref<bool(unsigned)> isAlike,
                     unsigned end) const {
  Run run{tensor, tensor + 1};
  while (run.end < end && isAlike(run.end))
    ++run.end;
  return run;
}

/// Expert after expert, each with all tensors of the run.
void ModuleOrder::addExperts(Run run, int64_t layer) {
  int64_t count = table.getExperts() / parallel.getEp(),
          first = role.getSlot() / parallel.getEtp() % parallel.getEp() * count;
  for (int64_t expert = first; expert < first + count; ++expert)
    for (unsigned tensor = run.begin; tensor < run.end; ++tensor)
      addShard(tensor, layer, expert);
}

/// The module of an expert: the name up to the dot behind its number. Grouped
/// linear layers have none, the tensors are numbered themselves.
static llvm::StringRef moduleOf(TensorOp op) {
  constexpr llvm::StringLiteral mark = "{expert}.";
  size_t at = op.getName().find(mark);
  return at == llvm::StringRef::npos
             ? ""
             : op.getName().take_front(at + mark.size());
}

void ModuleOrder::addModules(Run run, int64_t layer) {
  for (unsigned tensor = run.begin; tensor < run.end;) {
    if (!table.isOfExpert(tensor)) {
      addShard(tensor++, layer, 0);
      continue;
    }
    llvm::StringRef module = moduleOf(table[tensor]);
    Run experts = runFrom(
        tensor,
        [&](unsigned other) {
          // The types of a tensor stay together in any case.
          return TensorOp(table[other]).getName() ==
                     TensorOp(table[tensor]).getName() ||
                 (!module.empty() && moduleOf(table[other]) == module);
        },
        run.end);
    addExperts(experts, layer);
    tensor = experts.end;
  }
}

ArrayRef<FlatShard> ModuleOrder::list(int64_t chunk) {
  shards.clear();
  for (unsigned tensor = 0; tensor < table.size();) {
    Part part = table.getPart(tensor);
    Run run = runFrom(
        tensor, [&](unsigned other) { return table.getPart(other) == part; },
        table.size());
    tensor = run.end;
    if (part != Part::Layer) {
      if (migration.hasPart(side, chunk, part))
        addModules(run, 0);
      continue;
    }
    auto [begin, end] = migration.getChunk(side, chunk);
    for (int64_t layer = begin; layer < end; ++layer)
      addModules(run, layer);
  }
  return shards;
}
