//===- ReadTensors.cpp - A model's tensors in JSON ------------------------===//

#include "Reader.h"

using namespace etc::request;
using namespace etc::request::json;
using llvm::Error;

static Error readTensorName(const Input &input, TensorSpec &tensor) {
  return readName(input, tensor.name);
}

static Error readTiedTo(const Input &input, TensorSpec &tensor) {
  return readName(input, tensor.tiedTo);
}

static Error readBlock(const Input &input, TensorSpec &tensor) {
  return readWord(input, values().block, tensor.block);
}

static Error readShape(const Input &input, TensorSpec &tensor) {
  return readIntegers(input, sizeBounds, tensor.shape);
}

static Error readView(const Input &input, TensorSpec &tensor) {
  return readIntegers(input, sizeBounds, tensor.view);
}

static Error readSplit(const Input &input, TensorSpec &tensor) {
  return readInteger(input, {0, 2}, tensor.split);
}

static Error readVocabRows(const Input &input, TensorSpec &tensor) {
  return readBool(input, tensor.vocabRows);
}

static Error readLayerRange(const Input &input, TensorSpec &tensor) {
  std::vector<int64_t> ends;
  if (Error error = readIntegers(input, {0, layerBounds.most}, ends))
    return error;
  if (ends.size() != 2)
    return malformed(input.field,
                     "expected the first layer and the one behind the last, "
                     "got " +
                         llvm::Twine(ends.size()) + " numbers");
  tensor.layers = etc::Span{ends[0], ends[1]};
  return Error::success();
}

static const MemberReader<TensorSpec> tensorMembers[] = {
    {"name", readTensorName},      {"block", readBlock},
    {"shape", readShape},          {"split", readSplit},
    {"vocab_rows", readVocabRows}, {"tied_to", readTiedTo},
    {"layers", readLayerRange},    {"view", readView},
};

Error json::readTensors(const Input &input, ModelSpec &model) {
  if (input.node.kind != Kind::Array)
    return expected(input, "an array of tensors");
  if (input.node.elements.empty())
    return malformed(input.field, "expected at least one tensor, got none");
  model.family = "table";
  model.traits = Traits();
  model.tensors.clear();
  for (size_t i = 0; i < input.node.elements.size(); ++i) {
    Input element = elementOf(input, i);
    if (element.node.kind != Kind::Object)
      return expected(element, "an object");
    TensorSpec &tensor = model.tensors.emplace_back();
    if (Error error = readMembers(element, tensorMembers, tensor))
      return error;
    bool ofLayer = llvm::StringRef(tensor.name).contains("{layer}");
    if (tensor.block.empty() && ofLayer)
      tensor.block = "layer";
    for (auto [name, isMissing] : {std::pair("name", tensor.name.empty()),
                                   std::pair("shape", tensor.shape.empty()),
                                   std::pair("block", tensor.block.empty())})
      if (isMissing)
        return malformed(element.field,
                         llvm::Twine("\"") + name + "\" is missing");
  }
  return Error::success();
}
