// What all processes of a job on the doubles share: the memory of the GPUs, and
// what communicators exchange. Threads of one process use it in the same way.

#ifndef ETC_TEST_SEGMENT_H
#define ETC_TEST_SEGMENT_H

#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <string>

namespace etc::test {

/// The pages that device memory consists of; smaller than a GPU's, for small
/// tests.
constexpr size_t kPageBytes = 1 << 16;
constexpr size_t kPages = size_t{1} << 20; // 64 GiB, of all GPUs together
constexpr unsigned kMaxProcesses = 256, kMaxDevices = 64;

/// At the beginning of the segment. All fields are used with the lock held,
/// `changes` aside.
struct SegmentHeader {
  uint32_t isReady;
  uint32_t changes; // a futex: counts what somebody may have waited for
  uint32_t waiters;
  uint32_t nextId; // of communicators
  pthread_mutex_t mutex;
  int32_t processes[kMaxProcesses]; // their ids
  char fault[512];                  // the first misuse
  uint64_t usedPages[kMaxDevices];
  uint64_t nextPage;
  uint8_t isUsed[kPages];
};

/// A process, as others see it.
struct ProcessName {
  int32_t slot = -1;
  int32_t pid = 0;
};

/// The segment of this process: the file that ETC_DOUBLE_SEGMENT names, else
/// anonymous memory that is there when the library is loaded, so that forked
/// processes share it.
class Segment {
public:
  static Segment &get();

  SegmentHeader &header() { return *header_; }
  std::byte *pages() { return pages_; }
  /// Puts pages at other addresses too, which must be whole pages of this
  /// process's that nobody else uses.
  void showPages(uint64_t first, size_t bytes, void *at);
  /// Zeros at first, for NCCL's half.
  std::byte *worlds() { return worlds_; }
  static constexpr size_t kWorldBytes = size_t{72} << 30;

  /// Contiguous pages for a device; returns the number of the first, or -1.
  /// With the lock held.
  int64_t takePages(int device, size_t count);
  void freePages(int device, uint64_t first, size_t count);

  /// Enters this process into the table, once.
  ProcessName self();
  /// Whether a process still runs. With the lock held.
  bool isAlive(ProcessName process);

  /// Tells all who wait for something to look again.
  void notify();
  uint32_t changes() const;
  /// Waits for another value than `seen`, at most so long.
  void waitForChange(uint32_t seen, unsigned microseconds);

private:
  Segment();
  void lockSlot(int32_t slot);

  int file = -1;
  SegmentHeader *header_ = nullptr;
  std::byte *pages_ = nullptr, *worlds_ = nullptr;
  ProcessName self_;
  int slots = -1; // a description of the file that only this process has
};

/// Holds the lock of all processes. One that dies with it leaves it to the
/// next.
class SharedLock {
public:
  SharedLock();
  ~SharedLock();
  SharedLock(const SharedLock &) = delete;
  SharedLock &operator=(const SharedLock &) = delete;
};

/// Notes a misuse, and prints it; the first is kept. With the lock held.
void recordFault(const std::string &what);
/// The same, without the lock.
void fault(const std::string &what);

/// Adds a line to the log that ETC_DOUBLE_LOG names: "PROCESS THREAD KIND
/// what".
void writeLog(const char *kind, const std::string &what);

} // namespace etc::test

#endif // ETC_TEST_SEGMENT_H
