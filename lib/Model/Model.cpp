//===- Model.cpp - The meta model -----------------------------------------===//

#include "etc/Model/Model.h"

#include "Families.h"
#include "Types.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace etc;
using namespace etc::model;

std::vector<llvm::StringRef> etc::model::familyNames() {
  std::vector<llvm::StringRef> names;
  for (const Family &family : families())
    names.push_back(family.name);
  return names;
}

Model etc::model::buildModel(const config::ModelSpec &spec,
                             llvm::ArrayRef<std::string> types,
                             bool /*distributedOptimizer*/) {
  auto family = llvm::find_if(
      families(), [&](const Family &f) { return f.name == spec.family; });
  if (family == families().end())
    llvm::report_fatal_error("unknown family: the request was not checked");
  Model model;
  model.name = spec.name;
  model.layers = spec.layers;
  model.tensors = family->tensors(spec);
  model.types = stateTypes(types);
  return model;
}

std::optional<unsigned> Model::findTensor(llvm::StringRef wanted) const {
  for (unsigned i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == wanted)
      return i;
  return std::nullopt;
}

int64_t Model::bytesPerElement() const {
  int64_t bytes = 0;
  for (const StateType &type : types)
    bytes += byteSize(type.dtype);
  return bytes;
}

std::string etc::model::tensorName(const TensorTemplate &tensor,
                                   int64_t layer) {
  constexpr llvm::StringRef slot = "{layer}";
  llvm::StringRef name = tensor.name;
  size_t at = name.find(slot);
  if (at == llvm::StringRef::npos)
    return tensor.name;
  return name.take_front(at).str() + std::to_string(layer) +
         name.drop_front(at + slot.size()).str();
}

int64_t etc::model::paddedVocab(int64_t vocab, int64_t tp) {
  int64_t multiple = 128 * tp;
  return (vocab + multiple - 1) / multiple * multiple;
}

bool etc::model::existsOn(const TensorTemplate &tensor,
                          const config::Parallelism &parallel) {
  return tensor.tiedTo.empty() || parallel.pp > 1;
}

std::vector<int64_t> etc::model::shapeOn(const TensorTemplate &tensor,
                                         const config::Parallelism &parallel) {
  std::vector<int64_t> shape = tensor.shape;
  if (tensor.vocabRows)
    shape[0] = paddedVocab(shape[0], parallel.tp);
  return shape;
}

int64_t etc::model::parameterCount(const Model &model,
                                   const config::Parallelism &parallel) {
  int64_t count = 0;
  for (const TensorTemplate &tensor : model.tensors) {
    if (!existsOn(tensor, parallel))
      continue;
    int64_t elements = tensor.block == Block::Layer ? model.layers : 1;
    for (int64_t extent : tensor.shape)
      elements *= extent;
    count += elements;
  }
  return count;
}
