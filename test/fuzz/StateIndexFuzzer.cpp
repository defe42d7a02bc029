// The indexes of directories of safetensors files.

#include "state/checkpoint/StateIndex.h"

#include <cstdlib>

using namespace etc::runtime;

static void checkIndex(const StateIndex &index) {
  for (const StateIndex::Shard &shard : index.shards)
    for (const etc::Box &box : shard.boxes)
      for (unsigned axis = 0; axis != index.tensors[shard.tensor].shape.size();
           ++axis)
        if (box[axis].begin < 0 || box[axis].begin >= box[axis].end ||
            box[axis].end > index.tensors[shard.tensor].shape[axis])
          std::abort();
  for (const StateIndex::Device &device : index.devices)
    for (uint32_t shard : device.shards)
      if (shard >= index.shards.size())
        std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view json(reinterpret_cast<const char *>(data), size);
  if (Result<StateIndex> index = parseStateIndex(json); index.ok())
    checkIndex(*index);
  if (Result<WeightMap> map = parseWeightMap(json); map.ok())
    for (const auto &[file, names] : *map)
      if (file.find('/') != std::string::npos || names.empty())
        std::abort();
  return 0;
}
