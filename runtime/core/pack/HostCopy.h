// Copies of host memory that is too large for the cache.

#ifndef ETC_RUNTIME_CORE_PACK_HOSTCOPY_H
#define ETC_RUNTIME_CORE_PACK_HOSTCOPY_H

#include <cstddef>
#include <cstdint>

namespace etc::runtime {

/// Copies bytes into the cache, and asks for those that lie `ahead` of the ones
/// it reads.
void copyAhead(std::byte *to, const std::byte *from, uint64_t bytes,
               uint64_t ahead);

/// Copies runs, of one length that is not zero, past the cache: what is written
/// is not read first, and what others have in the cache stays. One run comes
/// after the other, not several side by side: a processor takes addresses with
/// equal low twelve bits for the same, and lets reads of one run wait for
/// writes of another, for as long as memory takes.
class StreamingCopy {
public:
  explicit StreamingCopy(uint64_t runBytes);
  /// Whoever is told of the copy after this sees it.
  ~StreamingCopy();
  StreamingCopy(const StreamingCopy &) = delete;
  StreamingCopy &operator=(const StreamingCopy &) = delete;

  void add(std::byte *to, const std::byte *from);

private:
  const uint64_t runBytes, runsAhead;
  const std::byte *last = nullptr; // run that was read
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_PACK_HOSTCOPY_H
