// A file that is read through a mapping.

#ifndef ETC_RUNTIME_STATE_CHECKPOINT_MAPPEDFILE_H
#define ETC_RUNTIME_STATE_CHECKPOINT_MAPPEDFILE_H

#include "core/plan/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Result;
using plan::Status;
using plan::text;

/// The file must keep its size while it is mapped. Threads may read at once.
class MappedFile {
public:
  /// Errors are of kind Usage.
  static Result<MappedFile> open(const std::string &path);
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept { swap(other); }
  MappedFile &operator=(MappedFile &&other) noexcept {
    swap(other);
    return *this;
  }

  const std::byte *data() const { return begin; }
  uint64_t size() const { return bytes; }
  std::string_view content() const {
    return {reinterpret_cast<const char *>(begin), bytes};
  }

  /// Takes what was read of a range out of this process's memory. It can be
  /// read again.
  void drop(uint64_t from, uint64_t to) const;

private:
  void swap(MappedFile &other);

  std::byte *begin = nullptr;
  uint64_t bytes = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_CHECKPOINT_MAPPEDFILE_H
