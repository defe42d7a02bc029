// One safetensors file of a checkpoint.

#ifndef ETC_RUNTIME_STATE_CHECKPOINT_STOREDFILE_H
#define ETC_RUNTIME_STATE_CHECKPOINT_STOREDFILE_H

#include "core/pack/Copy.h"
#include "state/checkpoint/MappedFile.h"
#include "state/checkpoint/SafeTensors.h"

#include <mutex>

namespace etc::runtime {

/// Opened when somebody asks for it first: where each device has a disk of its
/// own, the files of the others are not there. Threads may read at once.
class StoredFile {
public:
  explicit StoredFile(std::string path) : path_(std::move(path)) {}

  const std::string &path() const { return path_; }
  /// Its list. Errors name the file.
  Result<const StoredTensors *> list() const;
  /// Copies `part` of a tensor, of which the file has `whole`. The file's list
  /// has been read.
  void copy(const StoredTensor &tensor, BoxView whole, Region to, BoxView part,
            unsigned elementBytes) const;

private:
  Status read() const;

  std::string path_;
  mutable std::once_flag isRead;
  mutable Status status = Status::success();
  mutable MappedFile file;
  mutable StoredTensors tensors;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_CHECKPOINT_STOREDFILE_H
