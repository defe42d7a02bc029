#include "core/memory/PageArena.h"

#include <algorithm>

using namespace etc::runtime;

/// What a GPU reads at once without a penalty, and a multiple of every type.
constexpr uint64_t kAlignment = 256;
/// Address space costs nothing, but asking for it does, and a process of a
/// thousand devices has to find room for all of them.
constexpr uint64_t kReservation = uint64_t{4} << 30;
/// A run that is shorter is not begun unless it is a quarter of all pages: at
/// the end of each run some memory is left over.
constexpr uint64_t kShortestRun = 16;

static uint64_t roundUp(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

static uint64_t addressOf(const std::byte *data) {
  return reinterpret_cast<uint64_t>(data);
}

PageArena::~PageArena() {
  for (auto [number, mapping] : mapped) {
    source.unmap(mapping.page, startOf(number));
    source.destroy(mapping.page);
  }
}

std::byte *PageArena::startOf(uint64_t number) const {
  return reinterpret_cast<std::byte *>(number * source.pageBytes());
}

uint64_t PageArena::numberOf(const std::byte *data) const {
  return addressOf(data) / source.pageBytes();
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

std::byte *PageArena::Space::take(uint64_t bytes) {
  std::byte *data = cursor;
  cursor += std::min(roundUp(bytes, kAlignment),
                     static_cast<uint64_t>(limit - cursor));
  return data;
}

/// Space that touches no other, so that no run goes over its end.
Result<PageArena::Space> PageArena::reserve(uint64_t bytes) {
  const uint64_t size = roundUp(bytes, source.pageBytes());
  Result<std::byte *> begin = source.reserve(size + source.pageBytes());
  if (!begin)
    return begin.status();
  return Space{*begin, *begin + size};
}

/// Goes on at the longest run of free pages, if it is long enough.
bool PageArena::openRun(uint64_t bytes) {
  auto lengthOf = [](const auto &entry) { return entry.second - entry.first; };
  auto longest = std::max_element(runs.begin(), runs.end(),
                                  [&](const auto &left, const auto &right) {
                                    return lengthOf(left) < lengthOf(right);
                                  });
  if (longest == runs.end() ||
      lengthOf(*longest) * source.pageBytes() < bytes ||
      lengthOf(*longest) < std::min<uint64_t>(kShortestRun, mapped.size() / 4))
    return false;
  run = {startOf(longest->first), startOf(longest->second)};
  // The last page of the fresh addresses may be free, and a part of this run.
  if (run.cursor <= fresh.cursor && fresh.cursor < run.limit)
    fresh.cursor = std::min(run.limit, fresh.limit);
  return true;
}

Result<std::byte *> PageArena::place(uint64_t bytes) {
  if (run.fits(bytes) || openRun(bytes))
    return run.take(bytes);
  Status status = widen(bytes);
  return status.ok() ? Result<std::byte *>(fresh.take(bytes))
                     : Result<std::byte *>(status);
}

//===----------------------------------------------------------------------===//
// Runs of free pages
//===----------------------------------------------------------------------===//

void PageArena::addToRuns(uint64_t number) {
  auto next = runs.upper_bound(number);
  uint64_t last = number + 1;
  if (next != runs.end() && next->first == last) {
    last = next->second;
    next = runs.erase(next);
  }
  if (next != runs.begin() && std::prev(next)->second == number)
    std::prev(next)->second = last;
  else
    runs.emplace_hint(next, number, last);
}

void PageArena::takeFromRuns(uint64_t number) {
  auto entry = std::prev(runs.upper_bound(number));
  const auto [first, last] = *entry;
  if (first == number)
    runs.erase(entry);
  else
    entry->second = number;
  if (number + 1 != last)
    runs.emplace(number + 1, last);
}

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

Status PageArena::mapAt(Page page, uint64_t number) {
  Status status = source.map(page, startOf(number));
  if (status.ok())
    mapped.emplace(number, Mapping{page, 0});
  else
    source.destroy(page);
  return status;
}

Status PageArena::makePageAt(uint64_t number) {
  Result<Page> page = source.create();
  return page ? mapAt(*page, number) : page.status();
}

/// Takes the last page of the shortest run: it is the least likely to be used
/// where it is.
Status PageArena::movePageTo(uint64_t number) {
  auto shortest = std::min_element(
      runs.begin(), runs.end(), [](const auto &left, const auto &right) {
        return left.second - left.first < right.second - right.first;
      });
  const uint64_t from = shortest->second - 1;
  const Page page = mapped.at(from).page;
  takeFromRuns(from);
  source.unmap(page, startOf(from));
  mapped.erase(from);
  return mapAt(page, number);
}

/// Finds addresses for so many bytes.
Status PageArena::widen(uint64_t bytes) {
  if (fresh.fits(bytes))
    return Status::success();
  Result<Space> later = reserve(std::max(kReservation, bytes));
  if (later)
    fresh = *later;
  return later.status();
}

Status PageArena::makePages(uint64_t count) {
  Result<Space> space = reserve(count * source.pageBytes());
  if (!space)
    return space.status();
  const uint64_t last = numberOf(space->limit);
  for (uint64_t number = numberOf(space->cursor); number != last; ++number) {
    if (Status s = makePageAt(number); !s.ok())
      return s;
    addToRuns(number);
  }
  return Status::success();
}

Status PageArena::prepare(uint64_t bytes) {
  const uint64_t enough = roundUp(bytes, source.pageBytes());
  Status status = widen(enough);
  if (status.ok() && enough > pageBytesHeld())
    status = makePages((enough - pageBytesHeld()) / source.pageBytes());
  return status;
}

Status PageArena::usePage(uint64_t number) {
  auto known = mapped.find(number);
  if (known == mapped.end()) {
    Status s = runs.empty() ? makePageAt(number) : movePageTo(number);
    if (!s.ok())
      return s;
    known = mapped.find(number);
  } else if (known->second.buffers == 0) {
    takeFromRuns(number);
  }
  ++known->second.buffers;
  return Status::success();
}

void PageArena::leavePages(uint64_t first, uint64_t last) {
  for (uint64_t number = first; number != last; ++number)
    if (--mapped.at(number).buffers == 0)
      addToRuns(number);
}

Result<Buffer> PageArena::take(uint64_t bytes) {
  if (bytes == 0)
    return Buffer{};
  Result<std::byte *> data = place(bytes);
  if (!data)
    return data.status();
  const uint64_t first = numberOf(*data);
  const uint64_t last = numberOf(*data + bytes - 1) + 1;
  for (uint64_t number = first; number != last; ++number)
    if (Status s = usePage(number); !s.ok()) {
      leavePages(first, number);
      return s;
    }
  return Buffer{*data, bytes};
}

void PageArena::giveBack(Buffer buffer) {
  if (buffer.bytes != 0)
    leavePages(numberOf(buffer.data),
               numberOf(buffer.data + buffer.bytes - 1) + 1);
}
