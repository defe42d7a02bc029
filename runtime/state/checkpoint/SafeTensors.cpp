#include "state/checkpoint/SafeTensors.h"

#include "core/plan/TensorSize.h"

#include <nlohmann/json.hpp>

#include <cstring>

using namespace etc::runtime;
using etc::plan::malformed;
using Json = nlohmann::json;

namespace {

/// 0 for one that is not known.
uint64_t bytesOf(const std::string &dtype) {
  for (etc::plan::fb::DType known : etc::plan::fb::EnumValuesDType())
    if (dtype == storedName(known))
      return etc::plan::elementBytes(known);
  return 0;
}

/// Numbers from 0, or nothing.
bool readNumbers(const Json &object, const char *field,
                 std::vector<uint64_t> &numbers) {
  auto found = object.find(field);
  if (found == object.end() || !found->is_array())
    return false;
  for (const Json &number : *found) {
    if (!number.is_number_unsigned())
      return false;
    numbers.push_back(number.get<uint64_t>());
  }
  return true;
}

Status readTensor(const Json &object, uint64_t dataBegin, uint64_t fileBytes,
                  StoredTensor &tensor) {
  std::vector<uint64_t> offsets;
  auto dtype = object.is_object() ? object.find("dtype") : object.end();
  if (dtype == object.end() || !dtype->is_string() ||
      !readNumbers(object, "shape", tensor.shape) ||
      !readNumbers(object, "data_offsets", offsets) || offsets.size() != 2)
    return malformed("expected dtype, shape and two data_offsets");
  tensor.dtype = dtype->get<std::string>();
  uint64_t bytes = bytesOf(tensor.dtype);
  if (bytes == 0 || tensor.shape.size() > etc::plan::kMaxRank)
    return malformed("expected a dtype of BF16, F16, F32, F64, I64 or U8 and "
                     "at most ",
                     etc::plan::kMaxRank, " axes");
  for (uint64_t extent : tensor.shape)
    bytes = etc::plan::mulBytes(bytes, extent);
  const uint64_t dataBytes = fileBytes - dataBegin;
  if (offsets[0] > offsets[1] || offsets[1] > dataBytes ||
      offsets[1] - offsets[0] != bytes)
    return malformed("data_offsets [", offsets[0], ", ", offsets[1],
                     "] are not ", bytes, " of the file's ", dataBytes,
                     " bytes");
  tensor.begin = dataBegin + offsets[0];
  tensor.end = dataBegin + offsets[1];
  return Status::success();
}

} // namespace

const char *etc::runtime::storedName(etc::plan::fb::DType dtype) {
  using etc::plan::fb::DType;
  switch (dtype) {
  case DType::bf16:
    return "BF16";
  case DType::fp16:
    return "F16";
  case DType::fp32:
    return "F32";
  case DType::fp64:
    return "F64";
  case DType::i64:
    return "I64";
  case DType::u8:
    return "U8";
  }
  return "";
}

Result<StoredTensors> etc::runtime::parseSafeTensors(std::string_view start,
                                                     uint64_t fileBytes) {
  uint64_t length = 0;
  if (start.size() < sizeof length)
    return malformed("not a safetensors file: too short");
  std::memcpy(&length, start.data(), sizeof length);
  if (length > fileBytes - sizeof length)
    return malformed("not a safetensors file: a list of ", length,
                     " bytes is not in it");
  if (length > start.size() - sizeof length)
    return malformed("its list of ", length, " bytes is longer than ",
                     kMostListBytes - sizeof length,
                     "; share its tensors out among more files");
  Json list = Json::parse(start.substr(sizeof length, length), nullptr, false);
  if (!list.is_object())
    return malformed("not a safetensors file: its list is no JSON object");
  StoredTensors tensors;
  for (const auto &[name, object] : list.items())
    if (name != "__metadata__")
      if (Status s = readTensor(object, sizeof length + length, fileBytes,
                                tensors[name]);
          !s.ok())
        return s.at(name);
  return tensors;
}
