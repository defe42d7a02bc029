#include "state/inventory/Inventory.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <unistd.h>

using namespace etc;
using namespace etc::runtime;

namespace {

/// A JSON string. Names are UTF-8, of which only quotes, backslashes and
/// control characters need escapes.
std::string quote(std::string_view value) {
  std::string out = "\"";
  for (char c : value) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string number(int64_t value) { return std::to_string(value); }

/// "[a, b]".
template <typename Range, typename Format>
std::string list(const Range &range, Format format) {
  std::string out;
  for (const auto &item : range)
    out += (out.empty() ? "" : ", ") + format(item);
  return "[" + out + "]";
}

std::string formatBox(const Box &box) {
  return list(box, [](Span span) {
    return "[" + number(span.begin) + ", " + number(span.end) + "]";
  });
}

std::string formatTensor(const etc::plan::fb::Plan &plan,
                         const etc::plan::fb::Tensor &tensor, Shapes shapes) {
  std::string out =
      "{\"name\": " + quote(tensor.name()->string_view()) +
      ", \"type\": " + quote(tensor.type()->string_view()) +
      ", \"dtype\": " + quote(etc::plan::fb::EnumNameDType(tensor.dtype())) +
      ", \"shape\": " + list(*tensor.shape(), number);
  if (tensor.view())
    out += ", \"view\": " + list(*tensor.view(), number);
  if (tensor.prev_shape() && shapes == Shapes::Both)
    out += ", \"prev_shape\": " + list(*tensor.prev_shape(), number);
  if (tensor.tied_to() >= 0)
    out += ", \"tied_to\": " +
           quote(plan.tensors()->Get(tensor.tied_to())->name()->string_view());
  return out + "}";
}

/// What a device holds of each tensor, whichever side it is from.
Held mergeSides(const std::vector<HeldShard> &shards) {
  Held held;
  for (const HeldShard &shard : shards) {
    std::vector<Box> fresh = shard.boxes, &all = held[shard.tensor];
    for (const Box &known : all)
      fresh = subtract(fresh, known);
    all.insert(all.end(), fresh.begin(), fresh.end());
  }
  return held;
}

} // namespace

Inventory etc::runtime::takeInventory(const PlanIndex &index,
                                      const Survivors &survivors) {
  Inventory inventory(index.rankCount());
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    if (survivors[rank])
      inventory[rank] = mergeSides(
          heldShards(index, index.participant(rank).program, *survivors[rank]));
  return inventory;
}

void etc::runtime::share(const PlanIndex &index,
                         const std::vector<TensorBox> &boxes,
                         Inventory &inventory) {
  std::vector<uint64_t> given(index.rankCount());
  for (const TensorBox &box : boxes) {
    std::optional<uint32_t> least;
    for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
      if (inventory[rank] && (!least || given[rank] < given[*least]))
        least = rank;
    if (!least)
      return;
    (*inventory[*least])[box.tensor].push_back(box.box);
    given[*least] += volume(box.box) * index.elementBytes(box.tensor);
  }
}

std::string etc::runtime::formatInventory(const PlanIndex &index,
                                          const Inventory &inventory,
                                          Shapes shapes) {
  std::map<std::pair<uint32_t, std::vector<Box>>, size_t> shardNumbers;
  std::vector<std::string> shards, devices;
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    if (!inventory[rank])
      continue;
    std::vector<size_t> has;
    for (const auto &held : *inventory[rank]) {
      auto [entry, isNew] = shardNumbers.try_emplace(held, shards.size());
      has.push_back(entry->second);
      if (isNew)
        shards.push_back("{\"tensor\": " + number(held.first) +
                         ", \"boxes\": " + list(held.second, formatBox) + "}");
    }
    devices.push_back(
        "{\"device\": " + number(index.device(rank)) + ", \"has\": " +
        list(has, [](size_t n) { return std::to_string(n); }) + "}");
  }
  std::vector<std::string> tensors;
  for (const etc::plan::fb::Tensor *tensor : *index.plan().tensors())
    tensors.push_back(formatTensor(index.plan(), *tensor, shapes));
  auto rows = [](const std::vector<std::string> &items) {
    std::string out;
    for (const std::string &item : items)
      out += (out.empty() ? "\n    " : ",\n    ") + item;
    return "[" + out + "]";
  };
  return "{\n  \"format\": \"etc-inventory\",\n  \"version\": 1,\n"
         "  \"tensors\": " +
         rows(tensors) + ",\n  \"shards\": " + rows(shards) +
         ",\n  \"devices\": " + rows(devices) + "\n}\n";
}

std::string etc::runtime::formatHeld(const PlanIndex &index, uint32_t rank,
                                     const Standing &standing) {
  Survivors survivors(index.rankCount());
  survivors[rank] = standing;
  return formatInventory(index, takeInventory(index, survivors));
}

Status etc::runtime::writeInventory(const PlanIndex &index,
                                    const Inventory &inventory,
                                    const std::string &path, Shapes shapes) {
  const std::string content = formatInventory(index, inventory, shapes);
  const std::string draft = path + ".part";
  int fd =
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool isWritten = fd >= 0 &&
                   ::write(fd, content.data(), content.size()) ==
                       static_cast<ssize_t>(content.size()) &&
                   ::fdatasync(fd) == 0;
  int error = errno;
  if (fd >= 0)
    ::close(fd);
  if (isWritten && ::rename(draft.c_str(), path.c_str()) == 0)
    return Status::success();
  if (isWritten)
    error = errno;
  ::unlink(draft.c_str());
  return Status(ErrorKind::Usage, text(path, ": cannot write the inventory: ",
                                       std::strerror(error)));
}
