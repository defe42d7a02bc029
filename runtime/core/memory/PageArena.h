// Memory that is given back by the page, and whose pages are used again
// whatever is allocated next.

#ifndef ETC_RUNTIME_CORE_MEMORY_PAGEARENA_H
#define ETC_RUNTIME_CORE_MEMORY_PAGEARENA_H

#include "core/memory/Allocator.h"
#include "core/memory/PageSource.h"

#include <map>
#include <unordered_map>

namespace etc::runtime {

/// Buffers lie one after the other on runs of free pages. A page that comes
/// free stays at its address and joins the run that it touches; only where no
/// run is long enough is a buffer put at fresh addresses, and free pages are
/// moved there. A fresh page costs more than a copy into it, so they are made
/// ahead, and their number follows the most that ever lived, not the sum of all
/// buffers.
class PageArena final : public Allocator {
public:
  /// The source has to outlive the arena.
  explicit PageArena(PageSource &source) : source(source) {}
  ~PageArena() override;
  PageArena(const PageArena &) = delete;
  PageArena &operator=(const PageArena &) = delete;

  /// Makes pages until `bytes` of buffers fit without new ones, as far as
  /// buffers that share pages live and die together, and finds addresses for as
  /// many.
  Status prepare(uint64_t bytes);

  /// Makes the pages and finds the addresses that `future` will want of a copy
  /// of this arena, which has neither memory nor addresses that can be used. If
  /// the same happens to the arena then, it makes and reserves nothing.
  Status rehearse(const Rehearsal &future);

  /// Bytes of all pages there are.
  uint64_t pageBytesHeld() const { return mapped.size() * source.pageBytes(); }

private:
  /// A page, by its number: its address / page size.
  struct Mapping {
    Page page;
    uint32_t buffers; // that lie on it
  };
  /// Addresses that are handed out from `cursor` on.
  struct Space {
    std::byte *cursor = nullptr, *limit = nullptr;

    bool fits(uint64_t bytes) const {
      return bytes <= static_cast<uint64_t>(limit - cursor);
    }
    std::byte *take(uint64_t bytes);
  };

  /// The same, from pages of another source.
  PageArena(const PageArena &other, PageSource &source);

  Result<Buffer> take(uint64_t bytes) override;
  void giveBack(Buffer buffer) override;

  Status makePages(uint64_t count);
  Status widen(uint64_t bytes);
  Result<Space> reserve(uint64_t bytes);
  Result<std::byte *> place(uint64_t bytes);
  bool openRun(uint64_t bytes);

  void addToRuns(uint64_t number);
  void takeFromRuns(uint64_t number);

  Status mapAt(Page page, uint64_t number);
  Status makePageAt(uint64_t number);
  Status movePageTo(uint64_t number);
  Status usePage(uint64_t number);
  void leavePages(uint64_t first, uint64_t last);

  std::byte *startOf(uint64_t number) const;
  uint64_t numberOf(const std::byte *data) const;

  PageSource &source;
  Space run, fresh;
  std::unordered_map<uint64_t, Mapping> mapped; // by number
  std::map<uint64_t, uint64_t> runs; // free pages: first, one past the last
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_MEMORY_PAGEARENA_H
