// Memory that is given back by the page, and whose pages are used again
// whatever is allocated next.

#ifndef ETC_RUNTIME_MEMORY_PAGEARENA_H
#define ETC_RUNTIME_MEMORY_PAGEARENA_H

#include "memory/Allocator.h"
#include "memory/PageSource.h"

#include <unordered_map>
#include <vector>

namespace etc::runtime {

/// Buffers lie one after the other in address space that is never used twice; a
/// page is mapped while some buffer on it lives, and then waits for the next. A
/// fresh page costs more than a copy into it, so they are made ahead, and their
/// number follows the most that ever lived, not the sum of all buffers.
class PageArena final : public Allocator {
public:
  /// The source has to outlive the arena.
  explicit PageArena(PageSource &source) : source(source) {}
  ~PageArena() override;
  PageArena(const PageArena &) = delete;
  PageArena &operator=(const PageArena &) = delete;

  /// Makes pages until `bytes` of buffers fit without new ones, as far as
  /// buffers that share pages live and die together.
  Status prepare(uint64_t bytes);

  /// Bytes of all pages there are.
  uint64_t pageBytesHeld() const { return pages * source.pageBytes(); }

private:
  struct Mapping {
    Page page;
    uint32_t buffers; // that lie on it
  };

  Result<Buffer> take(uint64_t bytes) override;
  void giveBack(Buffer buffer) override;

  Result<std::byte *> place(uint64_t bytes);
  Status mapPages(uint64_t first, uint64_t last);
  void unmapPages(uint64_t first, uint64_t last);
  Status makePage();

  PageSource &source;
  std::byte *cursor = nullptr, *limit = nullptr; // of the reserved space
  std::unordered_map<uint64_t, Mapping> mapped;  // by address / page size
  std::vector<Page> idle;
  uint64_t pages = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_MEMORY_PAGEARENA_H
