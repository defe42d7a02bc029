#include "capi/CallerMemory.h"

#include "capi/TensorInfo.h"
#include "journal/Holdings.h"

#include <algorithm>

using namespace etc::runtime;

CallerMemory::CallerMemory(const PlanIndex &index, uint32_t program,
                           const etc_memory &callbacks, Allocator &fallback)
    : index(index), callbacks(callbacks), fallback(fallback) {
  for (auto [side, shards] :
       {std::pair(Side::Prev, &prev), std::pair(Side::Curr, &curr)}) {
    for (Holding holding : index.holdings(program, side))
      shards->push_back({side, holding});
    for (Shard &shard : *shards)
      named[memoryName(side, shard.holding.tensor)] = &shard;
  }
}

CallerMemory::~CallerMemory() {
  if (callbacks.allocate)
    return;
  for (const Shard &shard : curr)
    if (shard.data)
      fallback.release({shard.data, index.shardBytes(shard.holding.shard)});
}

std::optional<size_t> CallerMemory::find(const char *type,
                                         const char *name) const {
  for (size_t i = 0; i != prev.size(); ++i) {
    const auto &tensor = index.tensor(prev[i].holding.tensor);
    if (tensor.name()->string_view() == name &&
        tensor.type()->string_view() == type)
      return i;
  }
  return std::nullopt;
}

etc_tensor_info CallerMemory::describePrev(size_t position) const {
  return runtime::describe(index, Side::Prev, prev[position].holding);
}

void CallerMemory::registerPrev(size_t position, void *data) {
  prev[position].data = static_cast<std::byte *>(data);
}

Status CallerMemory::complete() {
  if (Status s = checkComplete(); !s.ok())
    return s;
  // Not before: until here shards may change places.
  for (Shard &shard : prev) {
    if (index.shardBytes(shard.holding.shard) > 0)
      byData[shard.data] = &shard;
    else if (shard.data) // may lie at the start of another
      byData.try_emplace(shard.data, &shard);
  }
  return Status::success();
}

Status CallerMemory::checkComplete() const {
  std::vector<const Shard *> shards;
  size_t missing = 0;
  const Shard *first = nullptr;
  for (const Shard &shard : prev) {
    if (index.shardBytes(shard.holding.shard) == 0)
      continue;
    if (shard.data) {
      shards.push_back(&shard);
    } else {
      first = first ? first : &shard;
      ++missing;
    }
  }
  if (missing > 0)
    return Status(ErrorKind::Usage,
                  text(missing, " of ", prev.size(),
                       " previous tensors are not registered, the first is ",
                       describe(*first)));
  std::sort(shards.begin(), shards.end(),
            [](const Shard *a, const Shard *b) { return a->data < b->data; });
  for (size_t i = 1; i < shards.size(); ++i)
    if (shards[i - 1]->data + index.shardBytes(shards[i - 1]->holding.shard) >
        shards[i]->data)
      return Status(ErrorKind::Usage,
                    text(describe(*shards[i - 1]), " and ",
                         describe(*shards[i]), " share memory"));
  return Status::success();
}

std::pair<void *, bool> CallerMemory::current(size_t position) const {
  const Shard &shard = curr[position];
  if (shard.data)
    return {shard.data, false};
  for (const Shard &before : prev)
    if (before.holding.tensor == shard.holding.tensor)
      return {before.data, true};
  return {nullptr, false};
}

Result<Buffer> CallerMemory::allocateFor(const etc_tensor_info *info,
                                         uint64_t bytes) {
  if (!callbacks.allocate)
    return fallback.allocate(bytes);
  void *data = callbacks.allocate(callbacks.context, info, bytes);
  if (!data && bytes > 0)
    return Status(
        ErrorKind::Usage,
        text("the trainer did not allocate ", bytes, " bytes for ",
             info ? text(info->name, " (", info->type, ")") : "staging"));
  return Buffer{static_cast<std::byte *>(data), bytes};
}

void CallerMemory::releaseFor(Side side, const etc_tensor_info *info,
                              Buffer buffer) {
  const bool isOurs = !info || side == Side::Curr;
  if (isOurs && !callbacks.allocate)
    return fallback.release(buffer);
  if (!callbacks.release)
    return;
  if (side == Side::Prev)
    hasReleased_ = true;
  callbacks.release(callbacks.context, side == Side::Prev ? ETC_PREV : ETC_CURR,
                    info, buffer.data, buffer.bytes);
}

Result<Buffer> CallerMemory::take(uint64_t bytes) {
  return allocateFor(nullptr, bytes);
}

Result<Buffer> CallerMemory::takeNamed(uint64_t bytes,
                                       const std::string &name) {
  Shard &shard = *named.at(name);
  if (shard.side == Side::Prev)
    return Buffer{shard.data, bytes};
  const etc_tensor_info info =
      runtime::describe(index, Side::Curr, shard.holding);
  Result<Buffer> buffer = allocateFor(&info, bytes);
  if (buffer && buffer->data) {
    shard.data = buffer->data;
    byData[shard.data] = &shard;
  }
  return buffer;
}

void CallerMemory::giveBack(Buffer buffer) {
  auto found = byData.find(buffer.data);
  if (found == byData.end()) {
    if (buffer.data)
      releaseFor(Side::Curr, nullptr, buffer);
    return;
  }
  // When all is over, previous tensors that are left stay the caller's, and
  // current ones are, if they are complete.
  Shard &shard = *found->second;
  if (isOver && (shard.side == Side::Prev || isHandedOver))
    return;
  const etc_tensor_info info =
      runtime::describe(index, shard.side, shard.holding);
  byData.erase(found);
  if (shard.side == Side::Curr)
    shard.data = nullptr;
  releaseFor(shard.side, &info, buffer);
}
