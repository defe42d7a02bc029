// A checkpoint on disk, of which single boxes are read.

#ifndef ETC_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define ETC_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "checkpoint/SafeTensors.h"
#include "pack/Copy.h"
#include "plan/PlanIndex.h"

namespace etc::runtime {

/// A directory of safetensors files, each of one state type, which its name
/// begins with (param.safetensors, exp_avg-00001-of-00002.safetensors), with
/// tensors under their global names. Threads may read at once.
class Checkpoint {
public:
  /// Reads the lists of all files. Errors are of kind Malformed, or Usage where
  /// there is no checkpoint.
  static Result<Checkpoint> open(const std::string &directory);

  /// Whether a tensor of the plan's previous side is there as the plan has it.
  Status check(const plan::PlanIndex &index, uint32_t tensor) const;

  /// Reads the elements of `part` of a tensor, in its previous planning shape,
  /// and no others. Returns the bytes.
  Result<uint64_t> read(const plan::PlanIndex &index, uint32_t tensor,
                        Region to, Box part) const;

private:
  struct Place {
    std::string file;
    StoredTensor tensor;
  };
  const Place *find(const plan::PlanIndex &index, uint32_t tensor) const;

  std::string directory;
  std::map<std::pair<std::string, std::string>, Place> places; // type, name
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CHECKPOINT_CHECKPOINT_H
