#include "core/plan/PackShared.h"

#include "core/plan/PlanFile.h"

#include <cassert>
#include <map>

using namespace etc::plan;

namespace {

/// Packs tensors with each type and shape once: those of one parameter differ
/// in little.
class TensorPacker {
public:
  explicit TensorPacker(flatbuffers::FlatBufferBuilder &builder)
      : builder(builder) {}

  flatbuffers::Offset<fb::Tensor> add(const fb::TensorT &tensor);

private:
  using Shape = flatbuffers::Offset<flatbuffers::Vector<int64_t>>;
  Shape addShape(const std::vector<int64_t> &shape);

  flatbuffers::FlatBufferBuilder &builder;
  std::map<std::vector<int64_t>, Shape> shapes;
};

} // namespace

/// An empty shape is an absent one.
TensorPacker::Shape TensorPacker::addShape(const std::vector<int64_t> &shape) {
  if (shape.empty())
    return 0;
  auto [entry, isNew] = shapes.try_emplace(shape);
  if (isNew)
    entry->second = builder.CreateVector(shape);
  return entry->second;
}

flatbuffers::Offset<fb::Tensor> TensorPacker::add(const fb::TensorT &tensor) {
  const auto name = builder.CreateSharedString(tensor.name),
             type = builder.CreateSharedString(tensor.type);
  const Shape shape = addShape(tensor.shape), view = addShape(tensor.view),
              prevShape = addShape(tensor.prev_shape);
  return fb::CreateTensor(builder, name, type, tensor.dtype, shape, view,
                          prevShape, tensor.tied_to, tensor.derived_from,
                          tensor.pattern, tensor.is_derived, tensor.deferred);
}

static auto packTensors(TensorPacker &packer,
                        flatbuffers::FlatBufferBuilder &builder,
                        const std::vector<std::unique_ptr<fb::TensorT>> &all) {
  std::vector<flatbuffers::Offset<fb::Tensor>> tensors;
  tensors.reserve(all.size());
  for (const auto &tensor : all)
    tensors.push_back(packer.add(*tensor));
  return builder.CreateVector(tensors);
}

static auto packTemplates(TensorPacker &packer,
                          flatbuffers::FlatBufferBuilder &builder,
                          const fb::CondensedT &condensed) {
  std::vector<flatbuffers::Offset<fb::TensorTemplate>> templates;
  for (const auto &entry : condensed.templates) {
    const auto tensors = packTensors(packer, builder, entry->tensors);
    const auto name = builder.CreateString(entry->name);
    templates.push_back(fb::CreateTensorTemplate(builder, name, tensors));
  }
  return builder.CreateVector(templates);
}

// All but the templates as the generated code packs it, which leaves out no
// field; their list is then exchanged.
std::vector<uint8_t> etc::plan::packShared(fb::PlanT plan) {
  plan.hash = ~uint64_t{0};
  flatbuffers::FlatBufferBuilder builder;
  TensorPacker packer(builder);
  const auto templates = packTemplates(packer, builder, *plan.condensed);
  plan.condensed->templates.clear();
  builder.Finish(fb::Plan::Pack(builder, &plan), fb::PlanIdentifier());
  std::vector<uint8_t> bytes(builder.GetBufferPointer(),
                             builder.GetBufferPointer() + builder.GetSize());
  auto *root = flatbuffers::GetMutableRoot<flatbuffers::Table>(bytes.data());
  auto *condensed =
      root->GetPointer<flatbuffers::Table *>(fb::Plan::VT_CONDENSED);
  uint8_t *field = condensed->GetAddressOf(fb::Condensed::VT_TEMPLATES);
  // Offsets of a builder count from the end.
  const uint8_t *target = bytes.data() + bytes.size() - templates.o;
  flatbuffers::WriteScalar(field,
                           static_cast<flatbuffers::uoffset_t>(target - field));
  [[maybe_unused]] Status sealed = sealPlan(bytes);
  assert(sealed.ok());
  return bytes;
}
