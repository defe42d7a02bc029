// What an arena will need later, found out on a copy without memory.

#include "core/memory/PageArena.h"

using namespace etc::runtime;

/// Pages that are made change where buffers come to lie, and so what else is
/// needed. What is missing after so many times is made when it is needed.
constexpr int kMostTimes = 8;

namespace {

/// Pages and addresses that are only counted.
class CountedPages final : public PageSource {
public:
  explicit CountedPages(uint64_t pageBytes) : size(pageBytes) {}

  uint64_t pageBytes() const override { return size; }
  Result<std::byte *> reserve(uint64_t bytes) override {
    auto *data = reinterpret_cast<std::byte *>(kNowhere + reserved);
    reserved += bytes;
    return data;
  }
  Result<Page> create() override { return Page{created++}; }
  void destroy(Page) override {}
  Status map(Page, std::byte *) override { return Status::success(); }
  void unmap(Page, std::byte *) override {}

  uint64_t created = 0, reserved = 0;

private:
  /// Where no process has memory, and any page size fits.
  static constexpr uint64_t kNowhere = uint64_t{1} << 62;
  const uint64_t size;
};

} // namespace

PageArena::PageArena(const PageArena &other, PageSource &source)
    : Allocator(other), source(source), run(other.run), fresh(other.fresh),
      mapped(other.mapped), runs(other.runs) {}

Status PageArena::rehearse(const Rehearsal &future) {
  for (int i = 0; i != kMostTimes; ++i) {
    CountedPages counted(source.pageBytes());
    PageArena copy(*this, counted);
    Status status = future(copy);
    if (!status.ok() || (counted.created == 0 && counted.reserved == 0))
      return status;
    if (counted.reserved > 0)
      status = widen(static_cast<uint64_t>(fresh.limit - fresh.cursor) +
                     counted.reserved);
    if (status.ok() && counted.created > 0)
      status = makePages(counted.created);
    if (!status.ok())
      return status;
  }
  return Status::success();
}
