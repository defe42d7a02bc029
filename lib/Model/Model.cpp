//===- Model.cpp - The meta model -----------------------------------------===//

#include "etc/Model/Model.h"

#include "Families.h"
#include "Types.h"
#include "etc/Request/Families.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc;
using namespace etc::model;

std::vector<llvm::StringRef> etc::model::familyNames() {
  std::vector<llvm::StringRef> names;
  for (const request::Family &family : request::families())
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
static void addBuffers(Model &model, llvm::ArrayRef<request::State> states) {
  auto isBuffer = [](const TensorTemplate &tensor) {
    return tensor.types == std::vector<std::string>{bufferType.str()};
  };
  bool isMoved = llvm::any_of(states, [](const request::State &state) {
    return state.name == "param";
  });
  if (!isMoved)
    llvm::erase_if(model.tensors, isBuffer);
  else if (llvm::any_of(model.tensors, isBuffer))
    model.types.push_back({bufferType.str(), DType::FP32, ""});
}

namespace {
/// How a state is laid out, from its parameter.
using Layout = std::pair<request::KeptAxes, bool /*flat*/>;
} // namespace

/// The templates of a parameter: one for all states that are laid out alike.
static void appendPlanes(const TensorTemplate &tensor,
                         llvm::ArrayRef<request::State> states,
                         bool distributedOptimizer,
                         std::vector<TensorTemplate> &planes) {
  std::vector<Layout> layouts;
  size_t begin = planes.size();
  for (const request::State &state : states) {
    if (!hasState(tensor, state))
      continue;
    bool flat =
        distributedOptimizer && state.owner == request::Owner::FlatRange;
    Layout layout = {state.axes, flat};
    auto known = llvm::find(layouts, layout);
    size_t index = begin + (known - layouts.begin());
    if (known == layouts.end()) {
      layouts.push_back(layout);
      planes.push_back(keepAxes(tensor, state.axes));
      planes.back().flat = flat;
    }
    planes[index].types.push_back(state.name.str());
  }
}

/// Templates for the types, where these are not all of every tensor.
static void splitPlanes(Model &model, llvm::ArrayRef<request::State> states,
                        bool distributedOptimizer) {
  std::vector<TensorTemplate> planes;
  for (TensorTemplate &tensor : model.tensors) {
    if (tensor.types.empty())
      appendPlanes(tensor, states, distributedOptimizer, planes);
    else
      planes.push_back(std::move(tensor));
  }
  if (llvm::all_of(planes, [&](const TensorTemplate &plane) {
        return plane.types.size() == model.types.size() && !plane.flat;
      }))
    for (TensorTemplate &plane : planes)
      plane.types.clear();
  model.tensors = std::move(planes);
}

/// Plans cut tensors along one axis with at most one before it and one behind
/// it. Of three axes, two on one side become one; the view has them apart.
static void mergeAxes(TensorTemplate &tensor) {
  std::vector<int64_t> &shape = tensor.shape;
  if (shape.size() != 3 || tensor.splitAxis == 1)
    return;
  if (tensor.view.empty() && !tensor.vocabRows)
    tensor.view = shape;
  if (tensor.splitAxis == 2) {
    shape = {shape[0] * shape[1], shape[2]};
    tensor.splitAxis = 1;
  } else {
    shape = {shape[0], shape[1] * shape[2]};
  }
}

Model etc::model::buildModel(const request::ModelSpec &spec,
                             llvm::ArrayRef<std::string> types,
                             bool distributedOptimizer) {
  Model model;
  model.name = spec.name;
  model.layers = spec.layers;
  model.experts = spec.experts.count;
  model.tensors =
      spec.family == "table" ? tableTensors(spec) : gptModelTensors(spec);
  std::vector<request::State> states = statesNamed(spec, types);
  model.types = stateTypes(states);
  if (!distributedOptimizer)
    moveProjBehindQkv(model.tensors);
  if (spec.ownStates.empty())
    addBuffers(model, states);
  splitPlanes(model, states, distributedOptimizer);
  llvm::for_each(model.tensors, mergeAxes);
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
         tensor.layers->contains({layer, layer + 1});
}

int64_t etc::model::paddedVocab(int64_t vocab, int64_t tp, int64_t multiple) {
  multiple *= tp;
  return (vocab + multiple - 1) / multiple * multiple;
}

bool etc::model::existsOn(const TensorTemplate &tensor,
                          const request::Parallelism &parallel) {
  if (tensor.tiedTo.empty())
    return true;
  if (tensor.block == Block::Mtp)
    return parallel.pp > 1 && parallel.mtpStage != 0;
  return parallel.pp > 1;
}

int64_t etc::model::vocabOf(const Model &model) {
  for (const TensorTemplate &tensor : model.tensors)
    if (tensor.vocabRows)
      return tensor.shape.front();
  return 0;
}

std::vector<int64_t> etc::model::shapeOn(const TensorTemplate &tensor,
                                         const request::Parallelism &parallel) {
  std::vector<int64_t> shape = tensor.shape;
  if (tensor.vocabRows)
    shape[0] = paddedVocab(shape[0], parallel.tp, tensor.vocabMultiple);
  return shape;
}

void etc::model::forInstances(const TensorTemplate &tensor, const Model &model,
                              llvm::function_ref<void(int64_t, int64_t)> see) {
  int64_t layers = tensor.isOfLayer() ? model.layers : 1,
          experts = tensor.ofExpert ? model.experts : 1;
  for (int64_t layer = 0; layer < layers; ++layer)
    if (hasLayer(tensor, layer))
      for (int64_t expert = 0; expert < experts; ++expert)
        see(layer, expert);
}

/// How many tensors a template stands for.
static int64_t instances(const Model &model, const TensorTemplate &tensor) {
  int64_t count = tensor.ofExpert ? model.experts : 1;
  if (!tensor.isOfLayer())
    return count;
  return count * (tensor.layers ? tensor.layers->size() : model.layers);
}

int64_t etc::model::tensorCount(const Model &model) {
  int64_t count = 0;
  for (const TensorTemplate &tensor : model.tensors)
    count += instances(model, tensor);
  return count;
}

int64_t etc::model::parameterCount(const Model &model,
                                   const request::Parallelism &parallel) {
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
