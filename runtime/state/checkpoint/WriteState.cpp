#include "state/checkpoint/WriteState.h"

#include "state/checkpoint/DraftFile.h"
#include "state/checkpoint/StateIndex.h"
#include "state/checkpoint/StoredFile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>

using namespace etc;
using namespace etc::runtime;
using Json = nlohmann::ordered_json;

namespace {

/// A box of a current shard, in its file.
struct Entry {
  uint32_t tensor;
  BoxView box;
  std::string key;
  uint64_t begin = 0, end = 0; // bytes, from the beginning of the data
};

/// The largest elements come first, so that all of them are aligned.
std::vector<Entry> entriesOf(const PlanIndex &index, uint32_t rank) {
  std::vector<Entry> entries;
  const uint32_t program = index.participant(rank).program;
  for (const auto &[tensor, shard] :
       index.holdings(program, etc::plan::Side::Curr)) {
    const auto &facts = index.tensor(tensor);
    const uint32_t count = index.boxCount(shard);
    for (uint32_t b = 0; b != count; ++b)
      entries.push_back({tensor, index.shardBox(shard, b),
                         stateKey(facts.type()->string_view(),
                                  facts.name()->string_view(), b, count)});
  }
  std::stable_sort(
      entries.begin(), entries.end(), [&](const Entry &a, const Entry &b) {
        return index.elementBytes(a.tensor) > index.elementBytes(b.tensor);
      });
  uint64_t at = 0;
  for (Entry &entry : entries) {
    entry.begin = at;
    at += volume(entry.box) * index.elementBytes(entry.tensor);
    entry.end = at;
  }
  return entries;
}

Json rangesOf(BoxView box) {
  Json ranges = Json::array();
  for (Span span : box)
    ranges.push_back({span.begin, span.end});
  return ranges;
}

/// The beginning of a file: what is in it, and in which tensor that stands.
std::string formatList(const PlanIndex &index, uint32_t rank,
                       const std::vector<Entry> &entries) {
  Json metadata = {{"format", "etc-state"},
                   {"version", "1"},
                   {"device", std::to_string(index.device(rank))}};
  Json list = {{"__metadata__", nullptr}}; // comes first
  for (const Entry &entry : entries) {
    const auto &tensor = index.tensor(entry.tensor);
    Json extents = Json::array();
    for (Span span : entry.box)
      extents.push_back(span.size());
    list[entry.key] = {{"dtype", storedName(tensor.dtype())},
                       {"shape", extents},
                       {"data_offsets", {entry.begin, entry.end}}};
    const Json place = {{"shape", std::vector<int64_t>(tensor.shape()->begin(),
                                                       tensor.shape()->end())},
                        {"box", rangesOf(entry.box)}};
    metadata[entry.key] = place.dump();
  }
  list["__metadata__"] = std::move(metadata);
  std::string out = list.dump();
  out.resize((out.size() + 7) / 8 * 8, ' '); // so that the data are aligned
  return out;
}

std::span<const std::byte> bytesOf(const std::string &bytes) {
  return std::as_bytes(std::span(bytes));
}

} // namespace

Status
etc::runtime::forEachSlab(BoxView box, uint64_t most,
                          const std::function<Status(BoxView slab)> &visit) {
  // Axes inside of `axis` are whole in a slab, axes outside of it have one row.
  unsigned axis = box.rank() - 1;
  uint64_t inner = 1;
  while (axis > 0 && inner * box[axis].size() <= most)
    inner *= box[axis--].size();
  const int64_t step =
      static_cast<int64_t>(std::max<uint64_t>(1, most / inner));
  Box slab(box);
  for (unsigned outer = 0; outer != axis; ++outer)
    slab[outer].end = slab[outer].begin + 1;
  while (true) {
    for (int64_t at = box[axis].begin; at < box[axis].end; at += step) {
      slab[axis] = {at, std::min(at + step, box[axis].end)};
      if (Status s = visit(slab); !s.ok())
        return s;
    }
    unsigned outer = axis;
    while (outer-- > 0) {
      slab[outer] = slab[outer].shifted(1);
      if (slab[outer].begin < box[outer].end)
        break;
      slab[outer] = {box[outer].begin, box[outer].begin + 1};
    }
    if (outer == ~0u)
      return Status::success();
  }
}

Result<uint64_t> etc::runtime::writeStateFile(const PlanIndex &index,
                                              uint32_t rank,
                                              const std::string &directory,
                                              const Produce &produce) {
  const std::vector<Entry> entries = entriesOf(index, rank);
  if (entries.empty())
    return uint64_t{0};
  const std::string list = formatList(index, rank, entries);
  const uint64_t length = list.size();
  const uint64_t bytes = sizeof length + length + entries.back().end;
  Result<DraftFile> file = DraftFile::create(
      directory + "/" + stateFileName(index.device(rank)), bytes);
  if (!file)
    return file.status();
  Status status = file->append(std::as_bytes(std::span(&length, 1)));
  if (status.ok())
    status = file->append(bytesOf(list));
  std::vector<std::byte> slab;
  for (const Entry &entry : entries) {
    const unsigned size = index.elementBytes(entry.tensor);
    auto write = [&](BoxView box) {
      slab.resize(volume(box) * size);
      Status s = produce(entry.tensor, {slab.data(), box});
      return s.ok() ? file->append(slab) : s;
    };
    if (status.ok())
      status = forEachSlab(entry.box, kSlabBytes / size, write);
  }
  if (status.ok())
    status = file->finish();
  return status.ok() ? Result<uint64_t>(bytes) : Result<uint64_t>(status);
}

Status etc::runtime::checkStateFile(const PlanIndex &index, uint32_t rank,
                                    const std::string &directory,
                                    const Produce &produce) {
  const std::vector<Entry> entries = entriesOf(index, rank);
  if (entries.empty())
    return Status::success();
  const StoredFile file(directory + "/" + stateFileName(index.device(rank)));
  Result<const StoredTensors *> list = file.list();
  if (!list)
    return list.status();
  std::vector<std::byte> expected, found;
  for (const Entry &entry : entries) {
    const unsigned size = index.elementBytes(entry.tensor);
    auto compare = [&](BoxView slab) {
      expected.resize(volume(slab) * size);
      found.resize(expected.size());
      Status s = file.copy((*list)->at(entry.key), entry.box,
                           {found.data(), slab}, slab, size);
      if (s.ok())
        s = produce(entry.tensor, {expected.data(), slab});
      return !s.ok() || expected == found
                 ? s
                 : Status(ErrorKind::Verification,
                          text(file.path(), ": ", entry.key, describe(slab),
                               " is not what was written"));
    };
    if (Status s = forEachSlab(entry.box, kSlabBytes / size, compare); !s.ok())
      return s;
  }
  return Status::success();
}
