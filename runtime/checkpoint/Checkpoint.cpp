#include "checkpoint/Checkpoint.h"

#include "pack/Runs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace etc::runtime;
using etc::plan::PlanIndex;
using etc::plan::fb::DType;

static Status unreadable(const std::string &path, const char *reason) {
  return Status(ErrorKind::Usage, text(path, ": cannot read: ", reason));
}

static Result<StoredTensors> readList(const std::string &path) {
  std::error_code error;
  const uint64_t fileBytes = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  uint64_t length = 0;
  if (error || !file.read(reinterpret_cast<char *>(&length), sizeof length))
    return unreadable(path, error ? error.message().c_str() : "too short");
  length = std::min(
      {length, kMostListBytes - sizeof length, fileBytes - sizeof length});
  std::string start(sizeof length + length, '\0');
  file.seekg(0);
  if (!file.read(start.data(), static_cast<std::streamsize>(start.size())))
    return unreadable(path, "it ended early");
  Result<StoredTensors> tensors = parseSafeTensors(start, fileBytes);
  return tensors ? std::move(tensors)
                 : Result<StoredTensors>(tensors.status().at(path));
}

Result<Checkpoint> Checkpoint::open(const std::string &directory) {
  Checkpoint checkpoint;
  checkpoint.directory = directory;
  std::error_code error;
  for (const auto &entry :
       std::filesystem::directory_iterator(directory, error)) {
    const std::filesystem::path path = entry.path();
    if (path.extension() != ".safetensors")
      continue;
    const std::string stem = path.stem();
    Result<StoredTensors> tensors = readList(path);
    if (!tensors)
      return tensors.status();
    for (auto &[name, tensor] : *tensors)
      checkpoint.places[{stem.substr(0, stem.find('-')), name}] = {
          path, std::move(tensor)};
  }
  if (error || checkpoint.places.empty())
    return Status(ErrorKind::Usage,
                  text(directory, ": no checkpoint is here; expected files "
                                  "such as param.safetensors"));
  return checkpoint;
}

const Checkpoint::Place *Checkpoint::find(const PlanIndex &index,
                                          uint32_t tensor) const {
  const auto &wanted = index.tensor(tensor);
  auto found = places.find({wanted.type()->str(), wanted.name()->str()});
  return found == places.end() ? nullptr : &found->second;
}

static const char *storedName(DType dtype) {
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

static const flatbuffers::Vector<int64_t> &
previousShape(const etc::plan::fb::Tensor &tensor) {
  return tensor.prev_shape() ? *tensor.prev_shape() : *tensor.shape();
}

template <typename Shape> static std::string describeShape(const Shape &shape) {
  std::string out;
  for (auto extent : shape)
    out += (out.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + out + "]";
}

Status Checkpoint::check(const PlanIndex &index, uint32_t tensor) const {
  const Place *place = find(index, tensor);
  if (!place)
    return Status(ErrorKind::Usage,
                  text(directory, ": has no ", index.describeTensor(tensor)));
  const auto &wanted = index.tensor(tensor);
  const StoredTensor &stored = place->tensor;
  auto isLike = [&](const flatbuffers::Vector<int64_t> *shape) {
    return shape &&
           std::equal(shape->begin(), shape->end(), stored.shape.begin(),
                      stored.shape.end(), [](int64_t a, uint64_t b) {
                        return static_cast<uint64_t>(a) == b;
                      });
  };
  // A view has the same elements in the same order.
  const bool isRight = stored.dtype == storedName(wanted.dtype()) &&
                       (isLike(&previousShape(wanted)) ||
                        (!wanted.prev_shape() && isLike(wanted.view())));
  return isRight ? Status::success()
                 : Status(ErrorKind::Usage,
                          text(place->file, ": ", index.describeTensor(tensor),
                               " is ", stored.dtype, " ",
                               describeShape(stored.shape), "; expected ",
                               storedName(wanted.dtype()), " ",
                               describeShape(previousShape(wanted))));
}

Result<uint64_t> Checkpoint::read(const PlanIndex &index, uint32_t tensor,
                                  Region to, Box part) const {
  if (Status s = check(index, tensor); !s.ok())
    return s;
  const Place &place = *find(index, tensor);
  const int fd = ::open(place.file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return unreadable(place.file, std::strerror(errno));
  std::vector<int64_t> whole;
  for (int64_t extent : previousShape(index.tensor(tensor)))
    whole.insert(whole.end(), {0, extent});
  const uint64_t size = index.elementBytes(tensor);
  uint64_t count = 0;
  bool isRead = true;
  forEachRun(Box(whole), to.box, part,
             [&](uint64_t from, uint64_t where, uint64_t elements) {
               std::byte *data = to.data + where * size;
               uint64_t at = place.tensor.begin + from * size;
               uint64_t left = elements * size;
               while (isRead && left > 0) {
                 ssize_t got = ::pread(fd, data, left, static_cast<off_t>(at));
                 isRead = got > 0;
                 if (!isRead)
                   break;
                 const auto bytes = static_cast<uint64_t>(got);
                 data += bytes, at += bytes, left -= bytes, count += bytes;
               }
             });
  ::close(fd);
  if (!isRead)
    return unreadable(place.file, "it ended early");
  return count;
}
