#include "Segment.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace etc::test;

namespace {

constexpr size_t kHeaderBytes = size_t{4} << 20;
constexpr size_t kPoolBytes = kPages * kPageBytes;

[[noreturn]] void die(const char *what) {
  std::perror(what);
  std::abort();
}

int openFile() {
  const char *path = std::getenv("ETC_DOUBLE_SEGMENT");
  const int file = path && *path
                       ? ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)
                       : ::memfd_create("etc-double", MFD_CLOEXEC);
  if (file < 0)
    die("the doubles' segment");
  return file;
}

void makeMutex(pthread_mutex_t &mutex) {
  pthread_mutexattr_t shared;
  pthread_mutexattr_init(&shared);
  pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &shared);
  pthread_mutexattr_destroy(&shared);
}

long futex(uint32_t *word, int operation, uint32_t value,
           const timespec *until) {
  return ::syscall(SYS_futex, word, operation, value, until, nullptr, 0);
}

struct flock lockOf(int32_t slot) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = slot;
  lock.l_len = 1;
  return lock;
}

/// Made when the library is loaded, which may be before processes are forked.
[[maybe_unused]] Segment &atLoad = Segment::get();

} // namespace

Segment &Segment::get() {
  static auto *only = new Segment; // outlives everything
  return *only;
}

Segment::Segment() : file(openFile()) {
  static_assert(sizeof(SegmentHeader) <= kHeaderBytes);
  ::flock(file, LOCK_EX);
  const size_t bytes = kHeaderBytes + kPoolBytes + kWorldBytes;
  if (::ftruncate(file, static_cast<off_t>(bytes)) != 0)
    die("the doubles' segment");
  void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED)
    die("the doubles' segment");
  auto *begin = static_cast<std::byte *>(memory);
  header_ = reinterpret_cast<SegmentHeader *>(begin);
  pages_ = begin + kHeaderBytes;
  worlds_ = pages_ + kPoolBytes;
  if (!header_->isReady) {
    makeMutex(header_->mutex);
    header_->isReady = 1;
  }
  ::flock(file, LOCK_UN);
}

void Segment::showPages(uint64_t first, size_t bytes, void *at) {
  const size_t place = kHeaderBytes + first * kPageBytes;
  if (::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
             static_cast<off_t>(place)) == MAP_FAILED)
    die("the doubles' segment");
}

int64_t Segment::takePages(int device, size_t count) {
  uint8_t *used = header_->isUsed;
  for (bool isAgain : {false, true}) {
    size_t first = isAgain ? 0 : header_->nextPage;
    for (size_t at = first; at < kPages && at - first < count; ++at)
      if (used[at])
        first = at + 1;
    if (first + count > kPages)
      continue;
    std::fill(used + first, used + first + count, uint8_t{1});
    header_->nextPage = first + count;
    header_->usedPages[device] += count;
    return static_cast<int64_t>(first);
  }
  return -1;
}

void Segment::freePages(int device, uint64_t first, size_t count) {
  std::fill(header_->isUsed + first, header_->isUsed + first + count,
            uint8_t{0});
  header_->usedPages[device] -= count;
}

ProcessName Segment::self() {
  const auto pid = static_cast<int32_t>(::getpid());
  if (self_.pid == pid)
    return self_;
  // Not the description that a parent may have handed down.
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  slots = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (slots < 0)
    die("the doubles' segment");
  for (int32_t slot = 0; slot != static_cast<int32_t>(kMaxProcesses); ++slot) {
    struct flock lock = lockOf(slot);
    if (::fcntl(slots, F_OFD_SETLK, &lock) != 0)
      continue;
    header_->processes[slot] = pid;
    return self_ = {slot, pid};
  }
  die("too many processes on the doubles");
}

bool Segment::isAlive(ProcessName process) {
  if (process.slot < 0 || header_->processes[process.slot] != process.pid)
    return false;
  if (process.pid == self_.pid)
    return true;
  struct flock lock = lockOf(process.slot);
  return ::fcntl(slots, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void Segment::notify() {
  __atomic_add_fetch(&header_->changes, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&header_->waiters, __ATOMIC_SEQ_CST) > 0)
    futex(&header_->changes, FUTEX_WAKE, INT_MAX, nullptr);
}

uint32_t Segment::changes() const {
  return __atomic_load_n(&header_->changes, __ATOMIC_SEQ_CST);
}

void Segment::waitForChange(uint32_t seen, unsigned microseconds) {
  const timespec until{0, static_cast<long>(microseconds) * 1000};
  __atomic_add_fetch(&header_->waiters, 1, __ATOMIC_SEQ_CST);
  futex(&header_->changes, FUTEX_WAIT, seen, &until);
  __atomic_sub_fetch(&header_->waiters, 1, __ATOMIC_SEQ_CST);
}

SharedLock::SharedLock() {
  pthread_mutex_t *mutex = &Segment::get().header().mutex;
  if (pthread_mutex_lock(mutex) == EOWNERDEAD)
    pthread_mutex_consistent(mutex);
}

SharedLock::~SharedLock() {
  pthread_mutex_unlock(&Segment::get().header().mutex);
}

void etc::test::recordFault(const std::string &what) {
  SegmentHeader &header = Segment::get().header();
  if (header.fault[0])
    return;
  std::strncpy(header.fault, what.c_str(), sizeof header.fault - 1);
  std::fprintf(stderr, "gpu double: %s\n", what.c_str());
  writeLog("fault", what);
}

void etc::test::fault(const std::string &what) {
  SharedLock lock;
  recordFault(what);
}

void etc::test::writeLog(const char *kind, const std::string &what) {
  static const char *path = std::getenv("ETC_DOUBLE_LOG");
  if (!path || !*path)
    return;
  static const int log =
      ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string line = std::to_string(::getpid()) + " " +
                           std::to_string(::gettid()) + " " + kind + " " +
                           what + "\n";
  [[maybe_unused]] ssize_t written = ::write(log, line.data(), line.size());
}
