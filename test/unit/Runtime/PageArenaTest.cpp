// Buffers on pages of a source that only keeps books.

#include "core/memory/PageArena.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

using namespace etc::runtime;

namespace {

constexpr uint64_t kPage = 1 << 16;

/// Hands out addresses that nobody may touch.
class Ledger final : public PageSource {
public:
  uint64_t pageBytes() const override { return kPage; }
  Result<std::byte *> reserve(uint64_t bytes) override {
    std::byte *begin = reinterpret_cast<std::byte *>(next);
    next += bytes;
    return begin;
  }
  Result<Page> create() override {
    if (created == most)
      return Status(ErrorKind::Usage, "no more pages");
    return created++;
  }
  void destroy(Page) override { ++destroyed; }
  Status map(Page page, std::byte *at) override {
    EXPECT_TRUE(pageAt.emplace(at, page).second);
    ++maps;
    return Status::success();
  }
  void unmap(Page page, std::byte *at) override {
    EXPECT_EQ(pageAt.at(at), page);
    pageAt.erase(at);
  }

  bool isMapped(const Buffer &buffer) const {
    auto address = reinterpret_cast<uint64_t>(buffer.data);
    for (uint64_t at = address / kPage * kPage; at < address + buffer.bytes;
         at += kPage)
      if (!pageAt.count(reinterpret_cast<std::byte *>(at)))
        return false;
    return true;
  }

  uint64_t next = kPage;
  uint64_t created = 0, destroyed = 0, most = ~uint64_t{0};
  unsigned maps = 0;
  std::map<std::byte *, Page> pageAt;
};

TEST(PageArena, WhatIsPreparedIsWhereBuffersGo) {
  Ledger pages;
  PageArena arena(pages);
  ASSERT_TRUE(arena.prepare(4 * kPage - 1).ok());
  EXPECT_EQ(pages.maps, 4u);
  // The second begins on the page that the first ends on.
  Buffer first = *arena.allocate(kPage + 1), second = *arena.allocate(kPage);
  EXPECT_EQ(second.data - first.data, static_cast<int64_t>(kPage + 256));
  EXPECT_EQ(pages.maps, 4u);
  // Nothing is long enough for three pages, and two are free: they move, and
  // one more is made.
  arena.release(first);
  Buffer third = *arena.allocate(3 * kPage);
  EXPECT_TRUE(pages.isMapped(second) && pages.isMapped(third));
  EXPECT_EQ(pages.created, 5u);
  EXPECT_EQ(arena.pageBytesHeld(), 5 * kPage);
}

TEST(PageArena, WhatComesFreeIsUsedWhereItIs) {
  Ledger pages;
  PageArena arena(pages);
  constexpr int count = 64;
  ASSERT_TRUE(arena.prepare((count + 2) * kPage).ok());
  std::vector<Buffer> small;
  for (int i = 0; i != count; ++i)
    small.push_back(*arena.allocate(kPage));
  // Twice as large ones take the place of pairs, after a start.
  std::vector<Buffer> large{*arena.allocate(2 * kPage)};
  for (int i = 0; i + 2 <= count; i += 2) {
    arena.release(small[i]);
    arena.release(small[i + 1]);
    if (i % 32 == 30)
      for (int n = 0; n != 16; ++n)
        large.push_back(*arena.allocate(2 * kPage));
  }
  EXPECT_EQ(pages.maps, count + 2u);
  for (const Buffer &buffer : large)
    EXPECT_TRUE(pages.isMapped(buffer));
}

TEST(PageArena, WithoutMemoryNothingIsHeld) {
  Ledger pages;
  pages.most = 2;
  {
    PageArena arena(pages);
    EXPECT_EQ(arena.allocate(3 * kPage).status().message(), "no more pages");
    EXPECT_EQ(arena.allocate(2 * kPage).status().message(), "");
    EXPECT_EQ(arena.prepare(3 * kPage).message(), "no more pages");
  }
  EXPECT_EQ(pages.destroyed, 2u);
  EXPECT_TRUE(pages.pageAt.empty());
}

/// Buffers of random sizes come and go: no two overlap, each lies on pages that
/// are there, and in the end there are as many as were made.
TEST(PageArena, RandomBuffers) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  auto number = [&](uint64_t first, uint64_t last) {
    return std::uniform_int_distribution<uint64_t>(first, last)(random);
  };
  Ledger pages;
  {
    PageArena arena(pages);
    ASSERT_TRUE(arena.prepare(number(0, 100) * kPage).ok());
    std::map<std::byte *, Buffer> live;
    for (int i = 0; i != 20'000; ++i) {
      if (!live.empty() && number(0, 99) < (i / 1000 % 2 ? 60 : 40)) {
        auto gone = std::next(live.begin(), number(0, live.size() - 1));
        arena.release(gone->second);
        live.erase(gone);
        continue;
      }
      const uint64_t most = number(0, 9) ? kPage / 4 : 20 * kPage;
      Buffer buffer = *arena.allocate(number(1, most));
      ASSERT_TRUE(pages.isMapped(buffer));
      auto [here, isNew] = live.emplace(buffer.data, buffer);
      ASSERT_TRUE(isNew);
      if (here != live.begin()) {
        const Buffer &before = std::prev(here)->second;
        ASSERT_LE(before.data + before.bytes, buffer.data);
      }
      if (std::next(here) != live.end()) {
        ASSERT_LE(buffer.data + buffer.bytes, std::next(here)->first);
      }
    }
    for (const auto &[data, buffer] : live)
      ASSERT_TRUE(pages.isMapped(buffer));
    EXPECT_EQ(pages.pageAt.size(), pages.created);
  }
  EXPECT_EQ(pages.destroyed, pages.created);
  EXPECT_TRUE(pages.pageAt.empty());
}

/// What happens to buffers from `seed` on, random in sizes and lives.
Status happen(Allocator &arena, std::vector<Buffer> live, unsigned seed) {
  std::mt19937 random(seed);
  for (int i = 0; i != 300; ++i) {
    if (!live.empty() && random() % 2) {
      std::swap(live[random() % live.size()], live.back());
      arena.release(live.back());
      live.pop_back();
      continue;
    }
    Result<Buffer> buffer = arena.allocate(1 + random() % (8 * kPage));
    if (!buffer)
      return buffer.status();
    live.push_back(*buffer);
  }
  return Status::success();
}

TEST(PageArena, WhatWasRehearsedNeedsNothingNew) {
  const unsigned first = std::random_device{}();
  for (unsigned seed = first; seed != first + 200; ++seed) {
    SCOPED_TRACE(seed);
    Ledger pages;
    PageArena arena(pages);
    std::vector<Buffer> live;
    std::mt19937 random(seed);
    for (int i = 0; i != 20; ++i)
      live.push_back(*arena.allocate(1 + random() % (4 * kPage)));
    ASSERT_TRUE(arena.prepare(60 * kPage).ok());
    const auto future = [&](Allocator &copy) {
      return happen(copy, live, seed);
    };
    ASSERT_TRUE(arena.rehearse(future).ok());
    const uint64_t created = pages.created, reserved = pages.next;
    ASSERT_TRUE(future(arena).ok());
    EXPECT_EQ(pages.created, created);
    EXPECT_EQ(pages.next, reserved);
  }
}

} // namespace
