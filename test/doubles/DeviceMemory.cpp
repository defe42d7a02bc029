#include "DeviceMemory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

using namespace etc::test;

/// No fp32, bf16 or fp16 that a test makes.
constexpr int kNoise = 0xdb;

DeviceMemory &DeviceMemory::get() {
  static auto *only = new DeviceMemory;
  return *only;
}

static void *takeAddresses(size_t bytes, int protection) {
  void *space = ::mmap(nullptr, bytes, protection,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED)
    std::abort();
  return space;
}

DeviceMemory::DeviceMemory()
    : isForHost(std::getenv("ETC_DOUBLE_HOST_ACCESS") != nullptr) {
  const auto space =
      reinterpret_cast<Address>(takeAddresses(kWindowBytes, PROT_NONE));
  window = (space + kWidestPages - 1) / kWidestPages * kWidestPages;
  cursor = window + kWidestPages;
  entries = static_cast<Entry *>(takeAddresses(
      kWindowBytes / kPageBytes * sizeof(Entry), PROT_READ | PROT_WRITE));
}

/// A page without memory behind each: an access past the end hits it. The next
/// one begins where pages of every device can.
static size_t reservedBytes(size_t bytes) {
  return (bytes + kPageBytes + kWidestPages - 1) / kWidestPages * kWidestPages;
}

Address DeviceMemory::reserve(size_t bytes) {
  constexpr size_t keptBack = 64;
  std::lock_guard lock(mutex);
  const size_t size = reservedBytes(bytes);
  std::deque<Address> &old = given[size];
  if (old.size() > keptBack) {
    const Address data = old.front();
    old.pop_front();
    return data;
  }
  const Address data = cursor;
  if (data + size > window + kWindowBytes - kWidestPages)
    return 0;
  cursor += size;
  return data;
}

void DeviceMemory::giveBack(Address data, size_t bytes) {
  std::lock_guard lock(mutex);
  given[reservedBytes(bytes)].push_back(data);
}

int64_t DeviceMemory::create(int device, size_t count) {
  int64_t first = -1;
  {
    SharedLock lock;
    first = Segment::get().takePages(device, count);
  }
  if (first >= 0)
    std::memset(Segment::get().pages() + first * kPageBytes, kNoise,
                count * kPageBytes);
  return first;
}

void DeviceMemory::destroy(int device, uint64_t first, size_t count) {
  std::memset(Segment::get().pages() + first * kPageBytes, kNoise,
              count * kPageBytes);
  SharedLock lock;
  Segment::get().freePages(device, first, count);
}

bool DeviceMemory::map(Address data, Mapping mapping) {
  std::lock_guard lock(mutex);
  const size_t count = (mapping.bytes + kPageBytes - 1) / kPageBytes;
  for (size_t i = 0; i != count; ++i)
    if (entryOf(data + i * kPageBytes).page != 0)
      return false;
  for (size_t i = 0; i != count; ++i) {
    Entry &entry = entryOf(data + i * kPageBytes);
    entry.bytes = static_cast<uint32_t>(
        std::min(kPageBytes, mapping.bytes - i * kPageBytes));
    entry.device = static_cast<int16_t>(mapping.device);
    entry.access = mapping.hasAccess ? bitOf(mapping.device) : 0;
    entry.page = mapping.first + i + 1;
  }
  mapped += static_cast<unsigned>(count);
  if (isForHost)
    Segment::get().showPages(mapping.first, count * kPageBytes,
                             reinterpret_cast<void *>(data));
  return true;
}

bool DeviceMemory::isMapped(Address data, size_t bytes, int device) const {
  for (size_t at = 0; at < bytes; at += kPageBytes)
    if (deviceOf(data + at) != device)
      return false;
  return true;
}

void DeviceMemory::addAccess(Address data, size_t bytes, int device) {
  for (size_t at = 0; at < bytes; at += kPageBytes)
    entryOf(data + at).access |= bitOf(device);
}

bool DeviceMemory::unmap(Address data, size_t bytes) {
  std::lock_guard lock(mutex);
  for (size_t at = 0; at < bytes; at += kPageBytes) {
    Entry &entry = entryOf(data + at);
    if (entry.page == 0)
      return false;
    entry.page = 0;
    entry.access = 0;
    --mapped;
  }
  if (isForHost)
    hide(data, bytes);
  return true;
}

void DeviceMemory::hide(Address data, size_t bytes) {
  const size_t size = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (::mmap(reinterpret_cast<void *>(data), size, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == MAP_FAILED)
    std::abort();
}

std::byte *DeviceMemory::translate(Address data, size_t bytes, int device,
                                   size_t &contiguous) const {
  contiguous = 0;
  if (!isDevice(data))
    return nullptr;
  const Entry &entry = entryOf(data);
  const uint64_t page = entry.page;
  const size_t within = (data - window) % kPageBytes;
  const uint64_t users = device < 0 ? ~uint64_t{0} : bitOf(device);
  if (page == 0 || (entry.access & users) == 0 || within >= entry.bytes)
    return nullptr;
  contiguous = std::min<size_t>(bytes, entry.bytes - within);
  return Segment::get().pages() + (page - 1) * kPageBytes + within;
}

int DeviceMemory::deviceOf(Address data) const {
  if (!isDevice(data) || entryOf(data).page == 0)
    return -1;
  return entryOf(data).device;
}

bool etc::test::copyMemory(Address to, Address from, size_t bytes, int device) {
  DeviceMemory &memory = DeviceMemory::get();
  auto place = [&](Address data, size_t most, size_t &contiguous) {
    if (memory.isDevice(data))
      return memory.translate(data, most, device, contiguous);
    contiguous = most;
    return reinterpret_cast<std::byte *>(data);
  };
  while (bytes > 0) {
    size_t readable = 0, writable = 0;
    const std::byte *source = place(from, bytes, readable);
    std::byte *target = place(to, bytes, writable);
    const size_t count = std::min(readable, writable);
    if (!source || !target)
      return false;
    std::memmove(target, source, count);
    to += count, from += count, bytes -= count;
  }
  return true;
}
