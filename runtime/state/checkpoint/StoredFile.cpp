#include "state/checkpoint/StoredFile.h"

#include "core/pack/Runs.h"

#include <algorithm>
#include <cstring>

using namespace etc;
using namespace etc::runtime;

/// As much of a file counts as this process's memory.
constexpr uint64_t kWindow = uint64_t{8} << 20;

Status StoredFile::read() const {
  Result<MappedFile> mapped = MappedFile::open(path_);
  if (!mapped)
    return mapped.status();
  file = std::move(*mapped);
  const std::string_view start = file.content().substr(0, kMostListBytes);
  Result<StoredTensors> parsed = parseSafeTensors(start, file.size());
  if (!parsed)
    return parsed.status().at(path_);
  tensors = std::move(*parsed);
  file.drop(0, start.size());
  return Status::success();
}

Result<const StoredTensors *> StoredFile::list() const {
  std::call_once(isRead, [&] { status = read(); });
  return status.ok() ? Result<const StoredTensors *>(&tensors)
                     : Result<const StoredTensors *>(status);
}

void StoredFile::copy(const StoredTensor &tensor, BoxView whole, Region to,
                      BoxView part, unsigned elementBytes) const {
  uint64_t begin = tensor.end, at = tensor.begin; // of what counts
  forEachRun(whole, to.box, part,
             [&](uint64_t from, uint64_t where, uint64_t elements) {
               std::byte *data = to.data + where * elementBytes;
               at = tensor.begin + from * elementBytes;
               begin = std::min(begin, at);
               for (uint64_t left = elements * elementBytes; left > 0;) {
                 const uint64_t now = std::min(left, kWindow);
                 std::memcpy(data, file.data() + at, now);
                 data += now, at += now, left -= now;
                 if (at - begin < kWindow)
                   continue;
                 file.drop(begin, at);
                 begin = at;
               }
             });
  file.drop(begin, at);
}
