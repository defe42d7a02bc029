// A folder that takes the current state of a migration as safetensors files.

#ifndef ETC_RUNTIME_STATE_SOURCE_STATEFOLDER_H
#define ETC_RUNTIME_STATE_SOURCE_STATEFOLDER_H

#include "core/engine/StateSink.h"

#include <string>

namespace etc::runtime {

/// A file for each device, and then the index, without which they count as
/// incomplete.
class StateFolder final : public StateSink {
public:
  /// Makes the folder, unless it is there and empty. The error, of kind Usage,
  /// says what is in the way.
  static plan::Result<StateFolder> make(const std::string &path);

  plan::Status write(const plan::PlanIndex &index, uint32_t rank,
                     const Read &read) const override;
  /// Writes the index, once all ranks have written: who holds what after the
  /// migration.
  plan::Status finish(const plan::PlanIndex &index) const;

  const std::string &path() const { return path_; }

private:
  explicit StateFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_SOURCE_STATEFOLDER_H
