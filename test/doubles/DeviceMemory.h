// The memory of the GPUs as a process sees it: addresses that host code can't
// use, and what is behind them.

#ifndef ETC_TEST_DEVICEMEMORY_H
#define ETC_TEST_DEVICEMEMORY_H

#include "Segment.h"

#include <atomic>
#include <deque>
#include <map>
#include <mutex>

namespace etc::test {

using Address = uint64_t;

/// What CUDA calls them (CUresult in cuda.h of CUDA 13.0).
enum Result : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  InvalidDevice = 101,
  InvalidContext = 201,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  MisalignedAddress = 716,
};

/// A range of addresses.
struct Range {
  Address data = 0;
  size_t bytes = 0;

  bool holds(const Range &other) const {
    return other.data >= data && other.data + other.bytes <= data + bytes;
  }
  bool meets(const Range &other) const {
    return other.data < data + bytes && data < other.data + other.bytes;
  }
};

/// What pages of a device are multiples of: devices of one host may differ.
constexpr size_t granularityOf(int device) {
  return device % 2 == 0 ? kPageBytes : 2 * kPageBytes;
}
constexpr size_t kWidestPages = granularityOf(1);

/// A device, in a set of devices.
static_assert(kMaxDevices <= 64);
constexpr uint64_t bitOf(int device) { return uint64_t{1} << device; }

/// All addresses are of one window, which host code may not touch: a GPU's
/// memory is no host's. With ETC_DOUBLE_HOST_ACCESS set it may, for frameworks
/// that have host tensors there. Streams and communicators go through
/// translate().
class DeviceMemory {
public:
  static DeviceMemory &get();

  /// Addresses without memory, aligned to pages; 0 where there are none left.
  Address reserve(size_t bytes);
  /// They are given again, but not soon.
  void giveBack(Address data, size_t bytes);
  bool isDevice(Address data) const { return data - window < kWindowBytes; }

  /// Pages of their own, filled with noise: who reads what nobody wrote finds
  /// no zeros. -1 where there is no memory left.
  int64_t create(int device, size_t count);
  /// Fills the pages with noise again.
  void destroy(int device, uint64_t first, size_t count);

  struct Mapping {
    uint64_t first; // page of the segment
    size_t bytes;   // that can be used
    int device;
    bool hasAccess; // before cuMemSetAccess() is called
  };
  /// False where a page is there already.
  bool map(Address data, Mapping mapping);
  /// Whether all of it is memory of that device.
  bool isMapped(Address data, size_t bytes, int device) const;
  void addAccess(Address data, size_t bytes, int device);
  /// False where none is there.
  bool unmap(Address data, size_t bytes);

  /// Where `bytes` of a device's memory are; how many of them, which ends with
  /// the page. Null where that device, or any, has no access to them.
  std::byte *translate(Address data, size_t bytes, int device,
                       size_t &contiguous) const;
  /// The same of an access that lies in one page.
  std::byte *translateAccess(Address data, size_t bytes, int device) const {
    size_t contiguous = 0;
    std::byte *place = translate(data, bytes, device, contiguous);
    return contiguous >= bytes ? place : nullptr;
  }
  /// The device whose memory an address is, or -1.
  int deviceOf(Address data) const;

  unsigned mappedPages() const { return mapped; }

private:
  DeviceMemory();

#ifdef __SANITIZE_THREAD__ // has no room for more
  static constexpr size_t kWindowBytes = size_t{1} << 39;
#else
  static constexpr size_t kWindowBytes = size_t{1} << 44;
#endif
  struct Entry {
    std::atomic<uint64_t> page{0}; // number + 1, 0 for none
    std::atomic<uint32_t> bytes{0};
    std::atomic<int16_t> device{0};
    std::atomic<uint64_t> access{0}; // of devices
  };
  void hide(Address data, size_t bytes);
  Entry &entryOf(Address data) const {
    return entries[(data - window) / kPageBytes];
  }

  std::mutex mutex;
  Address window = 0, cursor = 0;
  std::map<size_t, std::deque<Address>> given; // back, by size
  Entry *entries = nullptr;
  std::atomic<unsigned> mapped{0};
  const bool isForHost;
};

/// Copies between memory of the host and of a device, or of devices; false
/// where device memory is not there. `device` < 0: of any device.
bool copyMemory(Address to, Address from, size_t bytes, int device);

} // namespace etc::test

#endif // ETC_TEST_DEVICEMEMORY_H
