#include "state/checkpoint/StateIndex.h"

#include <nlohmann/json.hpp>

#include <limits>
#include <set>

using namespace etc;
using namespace etc::runtime;
using etc::plan::malformed;
using Json = nlohmann::json;

namespace {

/// A member of an object, or null: what is missing has no right type.
const Json &member(const Json &object, const char *name) {
  static const Json null;
  auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : null;
}

Status readText(const Json &object, const char *name, std::string &value) {
  const Json &text = member(object, name);
  if (!text.is_string())
    return malformed(name, ": expected a string");
  value = text.get<std::string>();
  return Status::success();
}

/// A number in [0, limit).
template <typename Number>
Status readNumber(const Json &number, uint64_t limit, Number &value) {
  if (!number.is_number_unsigned() || number.get<uint64_t>() >= limit)
    return malformed(number.is_number() ? number.dump() : "it",
                     " is not in [0, ", limit, ")");
  value = number.get<Number>();
  return Status::success();
}

/// Calls read(element, entry) for every element of an array, with a new entry
/// of `entries`.
template <typename Entry, typename Read>
Status readList(const Json &object, const char *name,
                std::vector<Entry> &entries, Read read) {
  const Json &list = member(object, name);
  if (!list.is_array())
    return malformed(name, ": expected a list");
  for (const Json &element : list)
    if (Status s = read(element, entries.emplace_back()); !s.ok())
      return s.at(text(name, "[", entries.size() - 1, "]"));
  return Status::success();
}

Status readTensor(const Json &object, StateIndex::Tensor &tensor) {
  std::string dtype;
  for (auto [name, value] :
       {std::pair("name", &tensor.name), std::pair("type", &tensor.type),
        std::pair("dtype", &dtype)})
    if (Status s = readText(object, name, *value); !s.ok())
      return s;
  bool isKnown = false;
  for (etc::plan::fb::DType known : etc::plan::fb::EnumValuesDType())
    if (dtype == etc::plan::fb::EnumNameDType(known))
      tensor.dtype = known, isKnown = true;
  if (!isKnown)
    return malformed("dtype: ", dtype, " is not one of bf16, fp16, fp32, ",
                     "fp64, i64 and u8");
  const uint64_t most = std::numeric_limits<int64_t>::max();
  if (Status s = readList(object, "shape", tensor.shape,
                          [&](const Json &number, int64_t &extent) {
                            return readNumber(number, most, extent);
                          });
      !s.ok())
    return s;
  if (tensor.shape.empty() || tensor.shape.size() > etc::plan::kMaxRank)
    return malformed("shape: expected 1 to ", etc::plan::kMaxRank, " axes");
  return Status::success();
}

Status readBox(const Json &list, const std::vector<int64_t> &shape, Box &box) {
  if (!list.is_array() || list.size() != shape.size())
    return malformed("expected ", shape.size(), " ranges, one an axis");
  box = boxOfShape(shape);
  for (size_t axis = 0; axis != shape.size(); ++axis) {
    const Json &range = list[axis];
    auto &[begin, end] = box[axis];
    const auto limit = static_cast<uint64_t>(shape[axis]) + 1;
    if (!range.is_array() || range.size() != 2)
      return malformed("expected a begin and an end for axis ", axis);
    if (Status s = readNumber(range[0], limit, begin); !s.ok())
      return s;
    if (Status s = readNumber(range[1], limit, end); !s.ok())
      return s;
    if (begin >= end)
      return malformed("[", begin, ", ", end, "] is empty");
  }
  return Status::success();
}

Status readShard(const Json &object, const StateIndex &index,
                 StateIndex::Shard &shard) {
  if (!member(object, "tensors").is_null())
    return malformed("tensors: the index of state files has shards of one "
                     "tensor; give each as \"tensor\"");
  if (Status s = readNumber(member(object, "tensor"), index.tensors.size(),
                            shard.tensor);
      !s.ok())
    return s.at("tensor");
  return readList(
      object, "boxes", shard.boxes, [&](const Json &list, Box &box) {
        return readBox(list, index.tensors[shard.tensor].shape, box);
      });
}

Status readDevice(const Json &object, const StateIndex &index,
                  std::set<uint32_t> &seen, StateIndex::Device &device) {
  const uint64_t most = std::numeric_limits<uint32_t>::max();
  if (Status s = readNumber(member(object, "device"), most, device.device);
      !s.ok())
    return s.at("device");
  if (!seen.insert(device.device).second)
    return malformed("device: ", device.device, " is there twice");
  std::set<uint32_t> tensors;
  return readList(
      object, "has", device.shards, [&](const Json &number, uint32_t &shard) {
        Status s = readNumber(number, index.shards.size(), shard);
        if (s.ok() && !tensors.insert(index.shards[shard].tensor).second)
          return malformed("a second shard of tensor ",
                           index.shards[shard].tensor);
        return s;
      });
}

} // namespace

Result<StateIndex> etc::runtime::parseStateIndex(std::string_view json) {
  const Json root = Json::parse(json, nullptr, false);
  if (member(root, "format") != "etc-inventory" || member(root, "version") != 1)
    return malformed("not an etc-inventory of version 1");
  StateIndex index;
  std::set<uint32_t> devices;
  Status status = readList(root, "tensors", index.tensors, readTensor);
  std::set<std::pair<std::string, std::string>> names;
  for (size_t t = 0; status.ok() && t != index.tensors.size(); ++t)
    if (!names.insert({index.tensors[t].type, index.tensors[t].name}).second)
      status = malformed("tensors[", t, "]: ", index.tensors[t].name, " (",
                         index.tensors[t].type, ") is there twice");
  if (status.ok())
    status = readList(root, "shards", index.shards,
                      [&](const Json &object, StateIndex::Shard &shard) {
                        return readShard(object, index, shard);
                      });
  if (status.ok())
    status = readList(root, "devices", index.devices,
                      [&](const Json &object, StateIndex::Device &device) {
                        return readDevice(object, index, devices, device);
                      });
  return status.ok() ? Result<StateIndex>(std::move(index))
                     : Result<StateIndex>(std::move(status));
}

Result<WeightMap> etc::runtime::parseWeightMap(std::string_view json) {
  const Json root = Json::parse(json, nullptr, false);
  const Json &map = member(root, "weight_map");
  if (!map.is_object())
    return malformed("expected an object with a weight_map");
  WeightMap files;
  for (const auto &[name, place] : map.items()) {
    const std::string file = place.is_string() ? place.get<std::string>() : "";
    if (!file.ends_with(".safetensors") || file.find('/') != std::string::npos)
      return malformed(name, ": expected the name of a safetensors file");
    files[file].push_back(name);
  }
  return files;
}

std::string etc::runtime::stateFileName(uint32_t device) {
  return text("device-", device, ".safetensors");
}

std::string etc::runtime::stateKey(std::string_view type, std::string_view name,
                                   size_t box, size_t boxCount) {
  return boxCount == 1 ? text(type, "/", name)
                       : text(type, "/", name, "#", box);
}
