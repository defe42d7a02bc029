//===- Model.cpp - The meta model -----------------------------------------===//

#include "etc/Model/Model.h"

#include "Families.h"
#include "Types.h"
#include "etc/Config/Families.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc;
using namespace etc::model;

std::vector<llvm::StringRef> etc::model::familyNames() {
  std::vector<llvm::StringRef> names;
  for (const config::Family &family : config::families())
    names.push_back(family.name);
  return names;
}

/// Forward order, where nobody depends on the order of modules.
static void moveProjBehindQkv(std::vector<TensorTemplate> &tensors) {
  auto isProj = [](const TensorTemplate &tensor) {
    return llvm::StringRef(tensor.name).contains("attention.linear_proj.");
  };
  auto isAttention = [](const TensorTemplate &tensor) {
    return llvm::StringRef(tensor.name).contains(".self_attention.");
  };
  for (auto at = tensors.begin(); at != tensors.end();) {
    auto begin = std::find_if(at, tensors.end(), isAttention);
    auto proj = std::find_if_not(begin, tensors.end(), isProj);
    at = std::find_if_not(proj, tensors.end(), isAttention);
    std::rotate(begin, proj, at);
  }
}

/// What is no parameter moves with the parameters, in a type of its own.
static void addBuffers(Model &model, llvm::ArrayRef<std::string> types) {
  auto isBuffer = [](const TensorTemplate &tensor) {
    return tensor.types == std::vector<std::string>{bufferType.str()};
  };
  if (llvm::none_of(model.tensors, isBuffer))
    return;
  if (!llvm::is_contained(types, "param")) {
    llvm::erase_if(model.tensors, isBuffer);
    return;
  }
  model.types.push_back({bufferType.str(), DType::FP32, ""});
  for (TensorTemplate &tensor : model.tensors)
    if (tensor.types.empty())
      tensor.types = types;
}

/// One template for the types that a flat range may cut, beside that of
/// parameters: Megatron's distributed optimizer leaves these whole.
static std::vector<TensorTemplate>
splitPlanes(std::vector<TensorTemplate> tensors,
            llvm::ArrayRef<std::string> types) {
  std::vector<TensorTemplate> planes;
  for (TensorTemplate &tensor : tensors) {
    if (!tensor.types.empty()) {
      planes.push_back(std::move(tensor));
      continue;
    }
    TensorTemplate sharded = tensor;
    for (const std::string &type : types)
      (type == "param" ? tensor : sharded).types.push_back(type);
    sharded.flat = true;
    for (TensorTemplate *plane : {&tensor, &sharded})
      if (!plane->types.empty())
        planes.push_back(std::move(*plane));
  }
  return planes;
}

Model etc::model::buildModel(const config::ModelSpec &spec,
                             llvm::ArrayRef<std::string> types,
                             bool distributedOptimizer) {
  Model model;
  model.name = spec.name;
  model.layers = spec.layers;
  model.experts = spec.experts.count;
  model.tensors =
      spec.family == "table" ? tableTensors(spec) : gptModelTensors(spec);
  model.types = stateTypes(types);
  if (distributedOptimizer)
    model.tensors = splitPlanes(std::move(model.tensors), types);
  else
    moveProjBehindQkv(model.tensors);
  addBuffers(model, types);
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

bool Model::isOf(const TensorTemplate &tensor, llvm::StringRef type) const {
  return tensor.types.empty() || llvm::is_contained(tensor.types, type);
}

int64_t Model::bytesPerElement(const TensorTemplate &tensor) const {
  int64_t bytes = 0;
  for (const StateType &type : types)
    if (isOf(tensor, type.name))
      bytes += byteSize(type.dtype);
  return bytes;
}

/// Puts a number into its place in a name.
static void fill(std::string &name, llvm::StringRef slot, int64_t number) {
  size_t at = name.find(slot);
  if (at != std::string::npos)
    name.replace(at, slot.size(), std::to_string(number));
}

std::string etc::model::tensorName(const TensorTemplate &tensor, int64_t layer,
                                   int64_t expert) {
  std::string name = tensor.name;
  if (tensor.isOfLayer())
    fill(name, "{layer}", layer);
  if (tensor.ofExpert && expert >= 0)
    fill(name, "{expert}", expert);
  return name;
}

bool etc::model::hasLayer(const TensorTemplate &tensor, int64_t layer) {
  return !tensor.isOfLayer() || !tensor.layers ||
         (layer >= tensor.layers->begin && layer < tensor.layers->end);
}

int64_t etc::model::paddedVocab(int64_t vocab, int64_t tp, int64_t multiple) {
  multiple *= tp;
  return (vocab + multiple - 1) / multiple * multiple;
}

bool etc::model::existsOn(const TensorTemplate &tensor,
                          const config::Parallelism &parallel) {
  if (tensor.tiedTo.empty())
    return true;
  if (tensor.block == Block::Mtp)
    return parallel.pp > 1 && parallel.mtpStage != 0;
  return parallel.pp > 1;
}

std::vector<int64_t> etc::model::shapeOn(const TensorTemplate &tensor,
                                         const config::Parallelism &parallel) {
  std::vector<int64_t> shape = tensor.shape;
  if (tensor.vocabRows)
    shape[0] = paddedVocab(shape[0], parallel.tp, tensor.vocabMultiple);
  return shape;
}

/// How many tensors a template stands for.
static int64_t instances(const Model &model, const TensorTemplate &tensor) {
  int64_t count = tensor.ofExpert ? model.experts : 1;
  if (!tensor.isOfLayer())
    return count;
  return count * (tensor.layers ? tensor.layers->end - tensor.layers->begin
                                : model.layers);
}

int64_t etc::model::parameterCount(const Model &model,
                                   const config::Parallelism &parallel) {
  int64_t count = 0;
  for (const TensorTemplate &tensor : model.tensors) {
    bool isParam = tensor.types.empty() || model.isOf(tensor, "param");
    if (!isParam || !existsOn(tensor, parallel))
      continue;
    int64_t elements = instances(model, tensor);
    for (int64_t extent : tensor.shape)
      elements *= extent;
    count += elements;
  }
  return count;
}
