#include "memory/PageArena.h"

#include <algorithm>

using namespace etc::runtime;

/// What a GPU reads at once without a penalty, and a multiple of every type.
constexpr uint64_t kAlignment = 256;
/// Address space costs nothing, but asking for it does, and a process of a
/// thousand devices has to find room for all of them.
constexpr uint64_t kReservation = uint64_t{4} << 30;

static uint64_t roundUp(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

static uint64_t addressOf(const std::byte *data) {
  return reinterpret_cast<uint64_t>(data);
}

PageArena::~PageArena() {
  for (auto [position, mapping] : mapped) {
    source.unmap(mapping.page,
                 reinterpret_cast<std::byte *>(position * source.pageBytes()));
    source.destroy(mapping.page);
  }
  for (Page page : idle)
    source.destroy(page);
}

Status PageArena::makePage() {
  Result<Page> page = source.create();
  if (!page)
    return page.status();
  idle.push_back(*page);
  ++pages;
  return Status::success();
}

Status PageArena::prepare(uint64_t bytes) {
  const uint64_t enough = roundUp(bytes, source.pageBytes());
  while (pageBytesHeld() < enough)
    if (Status s = makePage(); !s.ok())
      return s;
  return Status::success();
}

Result<std::byte *> PageArena::place(uint64_t bytes) {
  if (bytes > static_cast<uint64_t>(limit - cursor)) {
    const uint64_t size =
        std::max(kReservation, roundUp(bytes, source.pageBytes()));
    Result<std::byte *> space = source.reserve(size);
    if (!space)
      return space;
    cursor = *space;
    limit = cursor + size;
  }
  std::byte *data = cursor;
  cursor += std::min(roundUp(bytes, kAlignment),
                     static_cast<uint64_t>(limit - cursor));
  return data;
}

Result<Buffer> PageArena::take(uint64_t bytes) {
  if (bytes == 0)
    return Buffer{};
  Result<std::byte *> data = place(bytes);
  if (!data)
    return data.status();
  const uint64_t first = addressOf(*data) / source.pageBytes();
  const uint64_t last = (addressOf(*data) + bytes - 1) / source.pageBytes();
  if (Status s = mapPages(first, last); !s.ok())
    return s;
  return Buffer{*data, bytes};
}

Status PageArena::mapPages(uint64_t first, uint64_t last) {
  for (uint64_t at = first; at <= last; ++at) {
    if (auto known = mapped.find(at); known != mapped.end()) {
      ++known->second.buffers;
      continue;
    }
    Status status = idle.empty() ? makePage() : Status::success();
    if (status.ok())
      status = source.map(
          idle.back(), reinterpret_cast<std::byte *>(at * source.pageBytes()));
    if (!status.ok()) {
      if (at != first)
        unmapPages(first, at - 1);
      return status;
    }
    mapped.emplace(at, Mapping{idle.back(), 1});
    idle.pop_back();
  }
  return Status::success();
}

void PageArena::giveBack(Buffer buffer) {
  if (buffer.bytes == 0)
    return;
  const uint64_t begin = addressOf(buffer.data);
  unmapPages(begin / source.pageBytes(),
             (begin + buffer.bytes - 1) / source.pageBytes());
}

void PageArena::unmapPages(uint64_t first, uint64_t last) {
  for (uint64_t at = first; at <= last; ++at) {
    auto entry = mapped.find(at);
    if (--entry->second.buffers > 0)
      continue;
    source.unmap(entry->second.page,
                 reinterpret_cast<std::byte *>(at * source.pageBytes()));
    idle.push_back(entry->second.page);
    mapped.erase(entry);
  }
}
