#include "capi/CallerMemory.h"

#include "capi/TensorInfo.h"
#include "core/journal/HeldShards.h"

#include <algorithm>
#include <set>
#include <utility>

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
  if (callbacks.allocate || isAbandoned)
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
  for (Shard &shard : prev)
    if (Status s =
            occupy({shard.data, index.shardBytes(shard.holding.shard)}, &shard);
        !s.ok())
      return s;
  return Status::success();
}

const CallerMemory::Extent *CallerMemory::findOverlap(Buffer buffer) const {
  const auto first = live.lower_bound(buffer.data);
  for (auto it = first; it != live.end(); ++it) {
    if (it->first >= buffer.data + buffer.bytes)
      break;
    if (it->second.bytes > 0)
      return &it->second;
  }
  for (auto it = first; it != live.begin();) {
    --it;
    if (it->second.bytes > 0)
      return it->first + it->second.bytes > buffer.data ? &it->second : nullptr;
  }
  return nullptr;
}

Status CallerMemory::occupy(Buffer buffer, Shard *shard) {
  if (!buffer.data)
    return Status::success();
  if (buffer.bytes == 0) { // may lie at the start of another
    live.try_emplace(buffer.data, Extent{0, shard});
    return Status::success();
  }
  auto name = [this](const Shard *each) {
    return each ? text(each->side == Side::Prev ? "previous " : "new ",
                       describe(*each))
                : "staging";
  };
  if (const Extent *other = findOverlap(buffer))
    return Status(ErrorKind::Usage,
                  text("memory that was allocated for ", name(shard),
                       " overlaps ", name(other->shard),
                       "; allocate must return memory that nothing else uses"));
  live[buffer.data] = {buffer.bytes, shard};
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

const std::byte *CallerMemory::findNamed(const std::string &name) const {
  const auto found = named.find(name);
  return found == named.end() ? nullptr : found->second->data;
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

/// `shard` is null for staging.
void CallerMemory::releaseFor(Shard *shard, Buffer buffer) {
  const bool isOurs = !shard || shard->side == Side::Curr;
  if (isOurs && !callbacks.allocate)
    return fallback.release(buffer);
  if (areTransfersUnderWay)
    kept.emplace_back(shard, buffer);
  else
    tell(shard, buffer);
}

void CallerMemory::tell(Shard *shard, Buffer buffer) {
  const bool isPrev = shard && shard->side == Side::Prev;
  if (!callbacks.release || (isPrev && isOver))
    return;
  hasReleased_ = hasReleased_ || isPrev;
  etc_tensor_info info{};
  if (shard)
    info = runtime::describe(index, shard->side, shard->holding);
  callbacks.release(callbacks.context, isPrev ? ETC_PREV : ETC_CURR,
                    shard ? &info : nullptr, buffer.data, buffer.bytes);
}

Result<Buffer> CallerMemory::take(uint64_t bytes) {
  Result<Buffer> buffer = allocateFor(nullptr, bytes);
  if (buffer)
    if (Status s = occupy(*buffer, nullptr); !s.ok())
      return s;
  return buffer;
}

Result<Buffer> CallerMemory::takeNamed(uint64_t bytes,
                                       const std::string &name) {
  const auto found = named.find(name);
  if (found == named.end()) // it only passes through
    return take(bytes);
  Shard &shard = *found->second;
  if (shard.side == Side::Prev)
    return Buffer{shard.data, bytes};
  const etc_tensor_info info =
      runtime::describe(index, Side::Curr, shard.holding);
  Result<Buffer> buffer = allocateFor(&info, bytes);
  if (!buffer)
    return buffer;
  if (Status s = occupy(*buffer, &shard); !s.ok())
    return s;
  shard.data = buffer->data;
  return buffer;
}

void CallerMemory::noteTransfers(bool areUnderWay) {
  areTransfersUnderWay = areUnderWay;
  if (areUnderWay || isAbandoned)
    return;
  for (auto [shard, buffer] : std::exchange(kept, {}))
    tell(shard, buffer);
}

void CallerMemory::keepForLater() {
  isOver = true;
  noteTransfers(false);
}

namespace {

/// An allocator of a rehearsal, which knows nothing of previous tensors.
class WithoutPrevious final : public Allocator {
public:
  explicit WithoutPrevious(Allocator &inner) : inner(inner) {}

private:
  Result<Buffer> take(uint64_t bytes) override {
    Result<Buffer> buffer = inner.allocate(bytes);
    if (buffer)
      taken.insert(buffer->data);
    return buffer;
  }
  void giveBack(Buffer buffer) override {
    if (taken.erase(buffer.data) > 0)
      inner.release(buffer);
  }

  Allocator &inner;
  std::set<const std::byte *> taken;
};

} // namespace

Rehearsal CallerMemory::ofFallback(const Rehearsal &future) const {
  if (callbacks.allocate)
    return [](Allocator &) { return Status::success(); };
  return [&future](Allocator &copy) {
    WithoutPrevious known(copy);
    return future(known);
  };
}

void CallerMemory::giveBack(Buffer buffer) {
  if (isAbandoned)
    return;
  auto found = live.find(buffer.data);
  if (found == live.end() || found->second.bytes != buffer.bytes)
    return; // nothing, where another begins
  if (!found->second.shard) {
    live.erase(found);
    return releaseFor(nullptr, buffer);
  }
  // When all is over, previous tensors that are left stay the caller's, and
  // current ones are, if they are complete.
  Shard &shard = *found->second.shard;
  if (isOver && (shard.side == Side::Prev || isHandedOver))
    return;
  live.erase(found);
  if (shard.side == Side::Curr)
    shard.data = nullptr;
  releaseFor(&shard, buffer);
}
