// One safetensors file of a checkpoint.

#ifndef ETC_RUNTIME_STATE_CHECKPOINT_STOREDFILE_H
#define ETC_RUNTIME_STATE_CHECKPOINT_STOREDFILE_H

#include "core/pack/Copy.h"
#include "state/checkpoint/SafeTensors.h"

#include <mutex>

namespace etc::runtime {

/// Opened when somebody asks for it first: where each device has a disk of its
/// own, the files of the others are not there. It is opened again for each
/// copy, since a checkpoint may have more files than a process may hold open,
/// and has to be the same file then, unchanged. Threads may read at once.
class StoredFile {
public:
  explicit StoredFile(std::string path) : path_(std::move(path)) {}

  const std::string &path() const { return path_; }
  /// Its list. Errors name the file.
  Result<const StoredTensors *> list() const;
  /// Copies `part` of a tensor, of which the file has `whole`. The file's list
  /// has been read. Errors, of kind Usage, name the file; then some of the part
  /// may have been copied.
  Status copy(const StoredTensor &tensor, BoxView whole, Region to,
              BoxView part, unsigned elementBytes) const;

private:
  /// What changes where a file is replaced or written to.
  struct Facts {
    uint64_t device = 0, inode = 0, bytes = 0;
    int64_t seconds = 0, nanoseconds = 0; // of the last change

    static Facts of(int fd);
    bool operator==(const Facts &) const = default;
  };

  Status read() const;

  std::string path_;
  mutable std::once_flag isRead;
  mutable Status status = Status::success();
  mutable Facts facts;
  mutable StoredTensors tensors;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_CHECKPOINT_STOREDFILE_H
