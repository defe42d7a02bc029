// A checkpoint of the previous state of a plan, as the formula fills it.

#ifndef ETC_TEST_CHECKPOINTFIXTURE_H
#define ETC_TEST_CHECKPOINTFIXTURE_H

#include "state/synthetic/StateCheck.h"

#include <fstream>
#include <map>

namespace etc::runtime::test {

/// A file's bytes: its list, and the data after it.
inline std::string safeTensors(const std::string &list,
                               const std::string &data) {
  const uint64_t length = list.size();
  return std::string(reinterpret_cast<const char *>(&length), sizeof length) +
         list + data;
}

inline void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// One file a state type.
inline void writeCheckpoint(const PlanIndex &index,
                            const std::string &directory) {
  const std::map<plan::fb::DType, std::string> dtypes{
      {plan::fb::DType::bf16, "BF16"}, {plan::fb::DType::fp16, "F16"},
      {plan::fb::DType::fp32, "F32"},  {plan::fb::DType::fp64, "F64"},
      {plan::fb::DType::i64, "I64"},   {plan::fb::DType::u8, "U8"}};
  std::map<std::string, std::string> lists, data; // by type
  for (uint32_t t = 0; t != index.plan().tensors()->size(); ++t) {
    const auto &tensor = index.tensor(t);
    const auto &shape =
        tensor.prev_shape() ? *tensor.prev_shape() : *tensor.shape();
    const Box box = boxOfShape(shape);
    std::string extents;
    for (int64_t extent : shape)
      extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
    std::string elements(volume(box) * index.elementBytes(t), '\0');
    fillRegion(index, t, plan::Side::Prev,
               {reinterpret_cast<std::byte *>(elements.data()), box});
    const std::string type = tensor.type()->str();
    const size_t begin = data[type].size();
    data[type] += elements;
    lists[type] += (lists[type].empty() ? "{\"" : ", \"") +
                   tensor.name()->str() + "\": {\"dtype\": \"" +
                   dtypes.at(tensor.dtype()) + "\", \"shape\": [" + extents +
                   "], \"data_offsets\": [" + std::to_string(begin) + ", " +
                   std::to_string(data[type].size()) + "]}";
  }
  for (const auto &[type, list] : lists)
    writeFile(directory + "/" + type + ".safetensors",
              safeTensors(list + "}", data[type]));
}

} // namespace etc::runtime::test

#endif // ETC_TEST_CHECKPOINTFIXTURE_H
