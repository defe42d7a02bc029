// What is in the directory of a checkpoint.

#include "state/checkpoint/Checkpoint.h"

#include "core/plan/InputFile.h"

#include <algorithm>
#include <filesystem>
#include <set>

using namespace etc;
using namespace etc::runtime;
using etc::plan::malformed;

/// An index may be so long.
constexpr uint64_t kMostIndexBytes = uint64_t{1} << 30;
constexpr std::string_view kListSuffix = ".safetensors.index.json";
constexpr std::string_view kFileSuffix = ".safetensors";

static Status usage(const std::string &message) {
  return Status(ErrorKind::Usage, message);
}

/// The state type of a file of whole tensors, or of an index of such files;
/// types may have dots.
static std::string typeOf(std::string_view fileName) {
  fileName.remove_suffix(fileName.ends_with(kListSuffix) ? kListSuffix.size()
                                                         : kFileSuffix.size());
  const std::string type(fileName.substr(0, fileName.find('-')));
  return type == "model" ? "param" : type;
}

/// "device-12.safetensors".
static bool isShardFile(std::string_view name) {
  constexpr std::string_view prefix = "device-";
  if (!name.starts_with(prefix) || !name.ends_with(kFileSuffix) ||
      name.size() <= prefix.size() + kFileSuffix.size())
    return false;
  name.remove_prefix(prefix.size());
  name.remove_suffix(kFileSuffix.size());
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

Status Checkpoint::openShards(const std::string &path) {
  Result<std::string> content = plan::readInput(path, kMostIndexBytes);
  if (!content)
    return content.status();
  Result<StateIndex> index = parseStateIndex(*content);
  if (!index)
    return index.status().at(path);
  std::map<std::pair<uint32_t, Box>, size_t> known;
  for (const StateIndex::Device &device : index->devices) {
    const auto number = static_cast<uint32_t>(files.size());
    files.push_back(std::make_shared<StoredFile>(directory_ + "/" +
                                                 stateFileName(device.device)));
    for (uint32_t shard : device.shards) {
      const auto &[tensor, boxes] = index->shards[shard];
      const StateIndex::Tensor &facts = index->tensors[tensor];
      for (size_t b = 0; b != boxes.size(); ++b) {
        Entry &entry = entries[{facts.type, facts.name}];
        entry.dtype = storedName(facts.dtype);
        entry.shape.assign(facts.shape.begin(), facts.shape.end());
        auto [at, isNew] =
            known.try_emplace({tensor, boxes[b]}, entry.boxes.size());
        if (isNew)
          entry.boxes.push_back({boxes[b], {}});
        entry.boxes[at->second].holders.push_back(
            {number, device.device, static_cast<uint32_t>(b),
             static_cast<uint32_t>(boxes.size())});
      }
    }
  }
  return Status::success();
}

Status Checkpoint::addWhole(const std::string &type,
                            const std::string &fileName) {
  const auto number = static_cast<uint32_t>(files.size());
  files.push_back(std::make_shared<StoredFile>(directory_ + "/" + fileName));
  Result<const StoredTensors *> list = files.back()->list();
  if (!list)
    return list.status();
  for (const auto &[name, tensor] : **list) {
    auto [entry, isNew] = entries.try_emplace({type, name});
    if (!isNew) {
      const StoredBox &other = entry->second.boxes.front();
      return malformed(files.back()->path(), ": has ", name, " (", type,
                       "), which ", files[other.holders.front().file]->path(),
                       " has too; keep one of them");
    }
    entry->second = {tensor.dtype, tensor.shape, {{{}, {{number, {}}}}}};
  }
  return Status::success();
}

/// Reads the files that an index names, and sees that they have what it says.
Status Checkpoint::addIndexed(const std::string &type,
                              const std::string &indexName) {
  const std::string path = directory_ + "/" + indexName;
  Result<std::string> content = plan::readInput(path, kMostIndexBytes);
  if (!content)
    return content.status();
  Result<WeightMap> names = parseWeightMap(*content);
  if (!names)
    return names.status().at(path);
  for (const auto &[fileName, list] : *names) {
    if (!std::filesystem::exists(directory_ + "/" + fileName))
      return usage(text(path, ": names ", fileName,
                        ", which is not there; copy it too"));
    if (Status s = addWhole(type, fileName); !s.ok())
      return s;
    for (const std::string &name : list)
      if (!(*files.back()->list())->count(name))
        return malformed(path, ": says that ", name, " is in ", fileName,
                         ", which does not have it");
  }
  return Status::success();
}

Status Checkpoint::openWhole() {
  std::error_code error;
  std::set<std::string> names; // sorted
  for (const auto &entry :
       std::filesystem::directory_iterator(directory_, error))
    names.insert(entry.path().filename());
  if (error)
    return usage(text(directory_, ": cannot read: ", error.message()));
  std::set<std::string> indexed; // types
  for (const std::string &name : names)
    if (name.ends_with(kListSuffix)) {
      indexed.insert(typeOf(name));
      if (Status s = addIndexed(typeOf(name), name); !s.ok())
        return s;
    }
  for (const std::string &name : names) {
    if (!name.ends_with(kFileSuffix) || indexed.count(typeOf(name)))
      continue;
    if (isShardFile(name))
      return usage(text(directory_, ": has ", name, " but no ", kStateIndexName,
                        ", which is written last: it is not complete; write "
                        "it again, or name another directory"));
    if (Status s = addWhole(typeOf(name), name); !s.ok())
      return s;
  }
  return Status::success();
}

Result<Checkpoint> Checkpoint::open(const std::string &directory) {
  Checkpoint checkpoint;
  checkpoint.directory_ = directory;
  const std::string index = text(directory, "/", kStateIndexName);
  Status status = std::filesystem::exists(index) ? checkpoint.openShards(index)
                                                 : checkpoint.openWhole();
  if (!status.ok())
    return status;
  if (checkpoint.entries.empty())
    return usage(text(directory,
                      ": no checkpoint is here; expected files such as "
                      "param.safetensors, or those that etc-run --out=",
                      directory, " writes"));
  return checkpoint;
}
