// The indexes of directories of state: which file has what.

#ifndef ETC_RUNTIME_STATE_CHECKPOINT_STATEINDEX_H
#define ETC_RUNTIME_STATE_CHECKPOINT_STATEINDEX_H

#include "core/plan/Status.h"
#include "core/plan/TensorSize.h"
#include "etc/Geometry.h"

#include <map>
#include <string_view>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Result;
using plan::Status;
using plan::text;

/// An inventory (docs/reliability.md describes the format), as far as readers
/// of state need it.
struct StateIndex {
  struct Tensor {
    std::string name, type;
    plan::fb::DType dtype;
    std::vector<int64_t> shape;
  };
  struct Shard {
    uint32_t tensor;
    std::vector<Box> boxes;
  };
  struct Device {
    uint32_t device;
    std::vector<uint32_t> shards; // at most one a tensor
  };
  std::vector<Tensor> tensors;
  std::vector<Shard> shards;
  std::vector<Device> devices;
};

/// Everything in it is checked: numbers name what is there, and boxes are not
/// empty and lie in their tensor. Errors are of kind Malformed and name the
/// place.
Result<StateIndex> parseStateIndex(std::string_view json);

/// The tensors of files, by the file's name, which has no directory in it: the
/// weight_map of an index such as model.safetensors.index.json. Errors are of
/// kind Malformed.
using WeightMap = std::map<std::string, std::vector<std::string>>;
Result<WeightMap> parseWeightMap(std::string_view json);

/// The index's name in its directory, where it comes last.
constexpr char kStateIndexName[] = "inventory.json";
/// A device's file there.
std::string stateFileName(uint32_t device);
/// A box's name in that file: "param/layer.weight", or "param/layer.weight#1"
/// for the second box of a shard of several.
std::string stateKey(std::string_view type, std::string_view name, size_t box,
                     size_t boxCount);

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_CHECKPOINT_STATEINDEX_H
