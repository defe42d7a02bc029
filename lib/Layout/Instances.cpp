//===- Instances.cpp - The tensors of a stage, one by one -----------------===//

#include "etc/Layout/Layout.h"

using namespace etc;
using namespace etc::layout;
using model::TensorTemplate;
using request::Parallelism;

namespace {
/// Lists the tensors of one chunk in Megatron's module order.
class Lister {
public:
  Lister(const model::Model &model, const Parallelism &parallel, int64_t p,
         int64_t k, int64_t t)
      : model(model), parallel(parallel), p(p), k(k) {
    int64_t count = model.experts / parallel.ep;
    int64_t ep = t / parallel.expertTp() % parallel.ep;
    experts = {ep * count, (ep + 1) * count};
  }

  std::vector<Instance> run();

private:
  void addLayer(unsigned begin, unsigned end, int64_t layer);
  void addExperts(unsigned begin, unsigned end, int64_t layer);

  const model::Model &model;
  const Parallelism &parallel;
  int64_t p, k;
  Span experts;
  std::vector<Instance> instances;
};
} // namespace

/// The module of each expert that a tensor is in: what stands before a dot
/// behind "{expert}". Grouped linear layers have none, their tensors are
/// numbered themselves.
static llvm::StringRef expertModule(const TensorTemplate &tensor) {
  constexpr llvm::StringRef slot = "{expert}.";
  llvm::StringRef name = tensor.name;
  size_t at = name.find(slot);
  return at == llvm::StringRef::npos ? "" : name.take_front(at + slot.size());
}

void Lister::addExperts(unsigned begin, unsigned end, int64_t layer) {
  for (int64_t expert = experts.begin; expert < experts.end; ++expert)
    for (unsigned i = begin; i < end; ++i)
      if (hasLayer(model.tensors[i], layer))
        instances.push_back({i, layer, expert});
}

/// The templates [begin, end) of one layer, or of a block without layers.
void Lister::addLayer(unsigned begin, unsigned end, int64_t layer) {
  for (unsigned i = begin; i < end; ++i) {
    const TensorTemplate &tensor = model.tensors[i];
    if (!existsOn(tensor, parallel) || !hasLayer(tensor, layer))
      continue;
    if (!tensor.ofExpert) {
      instances.push_back({i, layer, -1});
      continue;
    }
    unsigned last = i + 1;
    llvm::StringRef module = expertModule(tensor);
    // The types of a tensor stay together in any case.
    while (last < end &&
           (model.tensors[last].name == tensor.name ||
            (!module.empty() && expertModule(model.tensors[last]) == module)))
      ++last;
    addExperts(i, last, layer);
    i = last - 1;
  }
}

std::vector<Instance> Lister::run() {
  Span layers = layersOfChunk(model.layers, parallel, p, k);
  unsigned count = model.tensors.size();
  for (unsigned i = 0; i < count;) {
    model::Block block = model.tensors[i].block;
    unsigned end = i;
    while (end < count && model.tensors[end].block == block)
      ++end;
    if (block == model::Block::Layer)
      for (int64_t layer = layers.begin; layer < layers.end; ++layer)
        addLayer(i, end, layer);
    else if (chunkHolds(model, block, parallel, p, k))
      addLayer(i, end, -1);
    i = end;
  }
  return std::move(instances);
}

std::vector<Instance> etc::layout::instancesOf(const model::Model &model,
                                               const Parallelism &parallel,
                                               int64_t p, int64_t k,
                                               int64_t t) {
  return Lister(model, parallel, p, k, t).run();
}
