// A checkpoint on disk, of which single boxes are read.

#ifndef ETC_RUNTIME_STATE_CHECKPOINT_CHECKPOINT_H
#define ETC_RUNTIME_STATE_CHECKPOINT_CHECKPOINT_H

#include "state/checkpoint/BoxSource.h"
#include "state/checkpoint/StateIndex.h"
#include "state/checkpoint/StoredFile.h"

#include <map>
#include <memory>

namespace etc::runtime {

/// A directory of safetensors files, in one of two forms:
///
/// - of whole tensors under their global names, a file of one state type, which
///   is its name before a "-" or ".safetensors" (param.bf16.safetensors,
///   exp_avg-00001-of-00002.safetensors; model.safetensors has the type param,
///   and may have an index),
/// - of devices' shards, as WriteState.h writes them, with an inventory.
///
/// Threads may read at once.
class Checkpoint final : public BoxSource {
public:
  /// Reads the lists of files of whole tensors, or the inventory. Errors are of
  /// kind Malformed, or Usage where there is no checkpoint.
  static Result<Checkpoint> open(const std::string &directory);

  const std::string &directory() const { return directory_; }
  /// The state types that are there: "param,master".
  std::string describeTypes() const;

  /// The tensor of the plan that is read for `tensor`: itself, or where there
  /// is none of its name, one that it is a tied copy of or that is tied to the
  /// same.
  std::optional<uint32_t> resolve(const plan::PlanIndex &index,
                                  uint32_t tensor) const;

  /// Whether a tensor of the plan's previous side is there as the plan has it.
  Status check(const plan::PlanIndex &index, uint32_t tensor) const;
  /// Whether a box of it can be read.
  Status check(const plan::PlanIndex &index, uint32_t tensor,
               BoxView box) const override {
    return check(index, tensor, box, std::nullopt);
  }
  Status check(const plan::PlanIndex &index, uint32_t tensor, BoxView box,
               std::optional<uint32_t> device) const;

  Result<uint64_t> read(const plan::PlanIndex &index, uint32_t tensor,
                        Region to, BoxView part) const override {
    return read(index, tensor, to, part, std::nullopt);
  }
  /// The same, as far as possible from the file of `device`.
  Result<uint64_t> read(const plan::PlanIndex &index, uint32_t tensor,
                        Region to, BoxView part,
                        std::optional<uint32_t> device) const;

private:
  /// Which file has a box, and under which name.
  struct Holder {
    uint32_t file; // in `files`
    std::optional<uint32_t> device;
    uint32_t box = 0, boxCount = 1; // of the device's shard
  };
  struct StoredBox {
    Box box; // of rank 0: the whole tensor
    std::vector<Holder> holders;
  };
  struct Entry {
    std::string dtype; // as safetensors name it
    std::vector<uint64_t> shape;
    std::vector<StoredBox> boxes;
  };
  using Name = std::pair<std::string, std::string>; // type, name
  /// What part of a file's tensor is asked for.
  struct Part {
    const StoredFile &file;
    const StoredTensor &tensor;
    BoxView whole, part;
  };

  Status openShards(const std::string &indexPath);
  Status openWhole();
  Status addWhole(const std::string &type, const std::string &fileName);
  Status addIndexed(const std::string &stem, const std::string &indexName);
  const std::pair<const Name, Entry> *find(const plan::PlanIndex &index,
                                           uint32_t tensor) const;
  Result<const StoredTensor *> locate(const Name &name, const Entry &entry,
                                      const StoredBox &box,
                                      const Holder &holder) const;
  template <typename Visit>
  Status visitBox(const Name &name, const Entry &entry, const StoredBox &box,
                  BoxView whole, BoxView part, std::optional<uint32_t> device,
                  Visit visit) const;
  template <typename Visit>
  Status forEachPart(const plan::PlanIndex &index, uint32_t tensor,
                     BoxView part, std::optional<uint32_t> device,
                     Visit visit) const;

  std::string directory_;
  std::vector<std::shared_ptr<StoredFile>> files;
  std::map<Name, Entry> entries;
};

/// The shape that a tensor has on the previous side.
const flatbuffers::Vector<int64_t> &previousShape(const plan::PlanIndex &index,
                                                  uint32_t tensor);

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_CHECKPOINT_CHECKPOINT_H
