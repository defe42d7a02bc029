#include "capi/CallerSource.h"

#include "capi/Handles.h"
#include "state/checkpoint/Checkpoint.h"

#include <vector>

using namespace etc;
using namespace etc::runtime;

namespace {

uint32_t copyShape(const flatbuffers::Vector<int64_t> *from, int64_t *to) {
  if (!from)
    return 0;
  std::copy(from->begin(), from->end(), to);
  return from->size();
}

etc_box describe(const PlanIndex &index, uint32_t tensor, BoxView part) {
  const auto &facts = index.tensor(tensor);
  etc_box box{};
  box.struct_size = sizeof box;
  box.dtype = static_cast<etc_dtype>(facts.dtype());
  box.type = facts.type()->c_str();
  box.name = facts.name()->c_str();
  box.axes = copyShape(&previousShape(index, tensor), box.shape);
  box.view_axes = facts.prev_shape() ? 0 : copyShape(facts.view(), box.view);
  for (unsigned axis = 0; axis != part.rank(); ++axis) {
    box.begin[axis] = part[axis].begin;
    box.end[axis] = part[axis].end;
  }
  return box;
}

class CallerSource final : public BoxSource {
public:
  explicit CallerSource(const etc_box_source &source) : source(source) {}

  Status check(const PlanIndex &index, uint32_t tensor,
               BoxView part) const override {
    return find(index, tensor, part).status();
  }

  Result<uint64_t> read(const PlanIndex &index, uint32_t tensor, Region to,
                        BoxView part) const override {
    Result<uint32_t> found = find(index, tensor, part);
    if (!found)
      return found.status();
    const etc_box box = describe(index, *found, part);
    std::vector<std::byte> packed(volume(part) * index.elementBytes(tensor));
    if (Status s = takeError(source.read(source.context, &box, packed.data()));
        !s.ok())
      return s;
    copyBox({packed.data(), part}, to, part, index.elementBytes(tensor));
    return packed.size();
  }

private:
  /// The tensor that has the box: itself, or one that is tied to it.
  Result<uint32_t> find(const PlanIndex &index, uint32_t tensor,
                        BoxView part) const {
    Status own = has(index, tensor, part);
    if (own.ok())
      return tensor;
    const uint32_t primary = index.primary(tensor);
    for (uint32_t other = 0; other != index.plan().tensors()->size(); ++other)
      if (other != tensor && index.primary(other) == primary &&
          has(index, other, part).ok())
        return other;
    return own;
  }

  Status has(const PlanIndex &index, uint32_t tensor, BoxView part) const {
    const etc_box box = describe(index, tensor, part);
    return takeError(source.check(source.context, &box));
  }

  const etc_box_source source;
};

} // namespace

std::unique_ptr<const BoxSource>
etc::runtime::makeCallerSource(const etc_box_source &source) {
  return std::make_unique<CallerSource>(source);
}
