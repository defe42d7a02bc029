#include "state/checkpoint/Checkpoint.h"

#include <algorithm>
#include <set>

using namespace etc;
using namespace etc::runtime;
using etc::plan::PlanIndex;

const flatbuffers::Vector<int64_t> &
etc::runtime::previousShape(const PlanIndex &index, uint32_t tensor) {
  const auto &facts = index.tensor(tensor);
  return facts.prev_shape() ? *facts.prev_shape() : *facts.shape();
}

template <typename Shape> static std::string describeShape(const Shape &shape) {
  std::string out;
  for (auto extent : shape)
    out += (out.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + out + "]";
}

std::string Checkpoint::describeTypes() const {
  std::set<std::string> types;
  for (const auto &[name, entry] : entries)
    types.insert(name.first);
  std::string out;
  for (const std::string &type : types)
    out += (out.empty() ? "" : ",") + type;
  return out;
}

const std::pair<const Checkpoint::Name, Checkpoint::Entry> *
Checkpoint::find(const PlanIndex &index, uint32_t tensor) const {
  const auto &wanted = index.tensor(tensor);
  auto found = entries.find({wanted.type()->str(), wanted.name()->str()});
  return found == entries.end() ? nullptr : &*found;
}

std::optional<uint32_t> Checkpoint::resolve(const PlanIndex &index,
                                            uint32_t tensor) const {
  const uint32_t primary = index.primary(tensor);
  for (uint32_t candidate : {tensor, primary})
    if (find(index, candidate))
      return candidate;
  for (uint32_t other = 0; other != index.plan().tensors()->size(); ++other)
    if (index.primary(other) == primary && find(index, other))
      return other;
  return std::nullopt;
}

Status Checkpoint::check(const PlanIndex &index, uint32_t tensor) const {
  const auto *found = find(index, tensor);
  if (!found)
    return Status(ErrorKind::Usage,
                  text(directory_, ": has no ", index.describeTensor(tensor)));
  const Entry &entry = found->second;
  const auto &wanted = index.tensor(tensor);
  auto isLike = [&](const flatbuffers::Vector<int64_t> *shape) {
    return shape &&
           std::equal(shape->begin(), shape->end(), entry.shape.begin(),
                      entry.shape.end(), [](int64_t a, uint64_t b) {
                        return static_cast<uint64_t>(a) == b;
                      });
  };
  // A view has the same elements in the same order.
  const bool isWhole = entry.boxes.front().box.rank() == 0;
  const auto &shape = previousShape(index, tensor);
  const bool isRight = entry.dtype == storedName(wanted.dtype()) &&
                       (isLike(&shape) || (isWhole && !wanted.prev_shape() &&
                                           isLike(wanted.view())));
  const std::string place =
      isWhole ? files[entry.boxes.front().holders.front().file]->path()
              : text(directory_, "/", kStateIndexName);
  return isRight
             ? Status::success()
             : Status(ErrorKind::Usage,
                      text(place, ": ", index.describeTensor(tensor), " is ",
                           entry.dtype, " ", describeShape(entry.shape),
                           "; expected ", storedName(wanted.dtype()), " ",
                           describeShape(shape),
                           "; plan with the model and the precision of "
                           "the checkpoint"));
}

/// Where in its file a box is. What the inventory says is compared with it.
Result<const StoredTensor *> Checkpoint::locate(const Name &name,
                                                const Entry &entry,
                                                const StoredBox &stored,
                                                const Holder &holder) const {
  const StoredFile &file = *files[holder.file];
  Result<const StoredTensors *> list = file.list();
  if (!list)
    return list.status();
  const std::string key = holder.device ? stateKey(name.first, name.second,
                                                   holder.box, holder.boxCount)
                                        : name.second;
  auto found = (*list)->find(key);
  if (found == (*list)->end())
    return plan::malformed(file.path(), ": has no ", key);
  std::vector<uint64_t> shape = entry.shape;
  for (unsigned axis = 0; axis != stored.box.rank(); ++axis)
    shape[axis] = static_cast<uint64_t>(stored.box[axis].size());
  const StoredTensor &tensor = found->second;
  if (tensor.dtype != entry.dtype || tensor.shape != shape)
    return plan::malformed(file.path(), ": ", key, " is ", tensor.dtype, " ",
                           describeShape(tensor.shape), "; ", kStateIndexName,
                           " says ", entry.dtype, " ", describeShape(shape));
  return &tensor;
}

/// Calls visit for a part of a stored box, from the file of `device` where that
/// has it, else from the first that can be read.
template <typename Visit>
Status Checkpoint::visitBox(const Name &name, const Entry &entry,
                            const StoredBox &box, BoxView whole, BoxView part,
                            std::optional<uint32_t> device, Visit visit) const {
  std::vector<const Holder *> order;
  for (const Holder &holder : box.holders)
    order.insert(holder.device == device ? order.begin() : order.end(),
                 &holder);
  Status first = Status::success();
  for (const Holder *holder : order) {
    Result<const StoredTensor *> tensor = locate(name, entry, box, *holder);
    const Status status =
        tensor ? visit(Part{*files[holder->file], **tensor, whole, part})
               : tensor.status();
    if (status.ok())
      return status;
    if (first.ok())
      first = status;
  }
  return first;
}

/// Calls visit(part) for parts of files that make up a box.
template <typename Visit>
Status Checkpoint::forEachPart(const PlanIndex &index, uint32_t asked,
                               BoxView wanted, std::optional<uint32_t> device,
                               Visit visit) const {
  // Many checkpoints have tied tensors under one of their names only.
  const uint32_t tensor = resolve(index, asked).value_or(asked);
  if (Status s = check(index, tensor); !s.ok())
    return s;
  const auto &found = *find(index, tensor);
  const Box all = boxOfShape(previousShape(index, tensor));
  std::vector<Box> left{Box(wanted)};
  auto take = [&](const StoredBox &stored) {
    const Box &whole = stored.box.rank() == 0 ? all : stored.box;
    for (const Box &box : left)
      if (std::optional<Box> common = intersect(box, whole))
        if (Status s = visitBox(found.first, found.second, stored, whole,
                                *common, device, visit);
            !s.ok())
          return s;
    left = subtract(left, whole);
    return Status::success();
  };
  for (bool isOwn : {true, false})
    for (const StoredBox &box : found.second.boxes) {
      const bool hasOwn =
          std::any_of(box.holders.begin(), box.holders.end(),
                      [&](const Holder &h) { return h.device == device; });
      if (left.empty())
        return Status::success();
      if (hasOwn == isOwn)
        if (Status s = take(box); !s.ok())
          return s;
    }
  return left.empty()
             ? Status::success()
             : Status(ErrorKind::Usage,
                      text(directory_, ": no file has ",
                           index.describeTensor(tensor), describe(left.front()),
                           "; name a directory that has all of the previous "
                           "state"));
}

Status Checkpoint::check(const PlanIndex &index, uint32_t tensor, BoxView box,
                         std::optional<uint32_t> device) const {
  return forEachPart(index, tensor, box, device,
                     [](const Part &) { return Status::success(); });
}

Result<uint64_t> Checkpoint::read(const PlanIndex &index, uint32_t tensor,
                                  Region to, BoxView part,
                                  std::optional<uint32_t> device) const {
  const unsigned size = index.elementBytes(tensor);
  uint64_t count = 0;
  Status status =
      forEachPart(index, tensor, part, device, [&](const Part &from) {
        count += volume(from.part) * size;
        return from.file.copy(from.tensor, from.whole, to, from.part, size);
      });
  return status.ok() ? Result<uint64_t>(count) : Result<uint64_t>(status);
}
