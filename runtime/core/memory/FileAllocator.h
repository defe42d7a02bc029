// Host memory that outlives the process: one file a tensor.

#ifndef ETC_RUNTIME_CORE_MEMORY_FILEALLOCATOR_H
#define ETC_RUNTIME_CORE_MEMORY_FILEALLOCATOR_H

#include "core/memory/Allocator.h"

#include <map>

namespace etc::runtime {

/// Named buffers are files of a directory, mapped and shared, so what is
/// written to them is there after the process was killed. Their space is
/// reserved when they are made: a full disk is an error of allocate(), not a
/// signal later. A name that exists already gives the memory it had; where that
/// has another size, it is left as it is, and the error says so.
class FileAllocator final : public Allocator {
public:
  /// The directory is made when the first file is.
  explicit FileAllocator(std::string directory);
  ~FileAllocator() override;
  FileAllocator(const FileAllocator &) = delete;
  FileAllocator &operator=(const FileAllocator &) = delete;

  bool has(const std::string &name) const override;
  void forget(const std::string &name) override;
  void keepForLater() override { isKeeping = true; }

private:
  Result<Buffer> take(uint64_t bytes) override;
  Result<Buffer> takeNamed(uint64_t bytes, const std::string &name) override;
  void giveBack(Buffer buffer) override;

  std::string path(const std::string &name) const;

  const std::string directory;
  bool isKeeping = false;
  std::map<std::byte *, std::string> names; // of what is mapped
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_MEMORY_FILEALLOCATOR_H
