#include "core/device/HostWorker.h"

#include "core/memory/FileAllocator.h"
#include "core/memory/HostAllocator.h"
#include "core/memory/HostPages.h"
#include "core/memory/PageArena.h"
#include "core/pack/Copy.h"

#include <cstring>

using namespace etc::runtime;

namespace {

class HostWorker : public Worker {
public:
  Status reserveMoves(size_t, size_t) override { return Status::success(); }

  Status run(std::span<const Move> moves, std::span<uint64_t> sums) override {
    runMoves(moves, sums);
    return Status::success();
  }

  Status download(std::span<std::byte> to, const std::byte *from) override {
    std::memcpy(to.data(), from, to.size());
    return Status::success();
  }

  Status upload(std::byte *to, std::span<const std::byte> from) override {
    std::memcpy(to, from.data(), from.size());
    return Status::success();
  }

  bool isHost() const override { return true; }
};

class PagedHostWorker final : public HostWorker {
public:
  Allocator &allocator() override { return arena; }
  Status reserve(uint64_t bytes) override { return arena.prepare(bytes); }
  Status rehearse(const Rehearsal &future) override {
    return arena.rehearse(future);
  }
  uint64_t heldBytes() const override { return arena.pageBytesHeld(); }

private:
  HostPages pages;
  PageArena arena{pages};
};

/// Over an allocator that makes memory when it is asked for it.
template <typename Memory> class PlainHostWorker final : public HostWorker {
public:
  template <typename... Arguments>
  explicit PlainHostWorker(Arguments &&...arguments)
      : memory(std::forward<Arguments>(arguments)...) {}

  Allocator &allocator() override { return memory; }
  Status reserve(uint64_t) override { return Status::success(); }
  uint64_t heldBytes() const override { return memory.highWater(); }

private:
  Memory memory;
};

} // namespace

std::unique_ptr<Worker> etc::runtime::makeHostWorker() {
  if (HostPages::areSupported())
    return std::make_unique<PagedHostWorker>();
  return std::make_unique<PlainHostWorker<HostAllocator>>();
}

std::unique_ptr<Worker> etc::runtime::makeFileWorker(std::string directory) {
  return std::make_unique<PlainHostWorker<FileAllocator>>(std::move(directory));
}
