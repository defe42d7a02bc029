// Copies of host memory that is too large for the cache.

#ifndef ETC_RUNTIME_CORE_PACK_HOSTCOPY_H
#define ETC_RUNTIME_CORE_PACK_HOSTCOPY_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace etc::runtime {

/// Copies bytes into the cache, and asks for those that lie `ahead` of the ones
/// it reads.
void copyAhead(std::byte *to, const std::byte *from, uint64_t bytes,
               uint64_t ahead);

/// Copies runs, of one length, that write past the cache: what is written is
/// not read first, and what others have in the cache stays. Runs are taken four
/// at a time, side by side, and a long one is four of a page each: memory
/// answers several streams in less time than one.
class StreamingCopy {
public:
  explicit StreamingCopy(uint64_t runBytes) : runBytes(runBytes) {}
  /// Whoever is told of the copy after this sees it.
  ~StreamingCopy();
  StreamingCopy(const StreamingCopy &) = delete;
  StreamingCopy &operator=(const StreamingCopy &) = delete;

  /// The run may be read and written as late as at the end of this object.
  void add(std::byte *to, const std::byte *from);

private:
  static constexpr unsigned kStreams = 4;

  void addLong(std::byte *to, const std::byte *from);
  void flush();

  const uint64_t runBytes;
  unsigned waiting = 0;
  std::array<std::byte *, kStreams> to;
  std::array<const std::byte *, kStreams> from;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_PACK_HOSTCOPY_H
