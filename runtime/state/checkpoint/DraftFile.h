// A file that gets its name when it is whole.

#ifndef ETC_RUNTIME_STATE_CHECKPOINT_DRAFTFILE_H
#define ETC_RUNTIME_STATE_CHECKPOINT_DRAFTFILE_H

#include "core/plan/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Result;
using plan::Status;
using plan::text;

/// Errors are of kind Usage and name the file. What is not finished goes.
class DraftFile {
public:
  /// Reserves the space.
  static Result<DraftFile> create(const std::string &path, uint64_t bytes);
  DraftFile() = default;
  ~DraftFile();
  DraftFile(DraftFile &&other) noexcept { swap(other); }
  DraftFile &operator=(DraftFile &&other) noexcept {
    swap(other);
    return *this;
  }

  Status append(std::span<const std::byte> bytes);
  /// It is on the disk, under its name.
  Status finish();

private:
  void swap(DraftFile &other);
  std::string draft() const { return path + ".part"; }

  std::string path;
  int fd = -1;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_CHECKPOINT_DRAFTFILE_H
