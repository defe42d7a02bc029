//===- Inventory.cpp - Who holds what -------------------------------------===//

#include "etc/Request/Inventory.h"

#include "Reader.h"
#include "etc/Request/Request.h"

#include "llvm/ADT/DenseSet.h"

#include <limits>

using namespace etc;
using namespace etc::request;
using namespace etc::request::json;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

/// No plan has tensors, shards or devices beyond these.
static constexpr Bounds countBounds = {0, std::numeric_limits<int32_t>::max()};
static constexpr Bounds extentBounds = {0, int64_t(1) << 48};
/// Of a file.
static constexpr uint64_t mostBytes = uint64_t(1) << 28;

static Error readText(const Input &input, std::string &target) {
  if (input.node.kind != Kind::String)
    return expected(input, "a string");
  target = input.node.text;
  return Error::success();
}

/// Calls `read` with every element of an array.
static Error forElements(const Input &input,
                         llvm::function_ref<Error(const Input &)> read) {
  if (input.node.kind != Kind::Array)
    return expected(input, "an array");
  for (size_t i = 0; i < input.node.elements.size(); ++i)
    if (Error error = read(elementOf(input, i)))
      return error;
  return Error::success();
}

/// The model says it.
template <typename T> static Error ignore(const Input &, T &) {
  return Error::success();
}

/// Members that an object may leave out.
using Optional = llvm::ArrayRef<StringRef>;

/// An object that has all members but some.
template <typename T, size_t N>
static Error readObject(const Input &input, const MemberReader<T> (&readers)[N],
                        Optional optional, T &target) {
  if (input.node.kind != Kind::Object)
    return expected(input, "an object");
  for (const MemberReader<T> &reader : readers)
    if (!llvm::is_contained(optional, reader.name) &&
        llvm::none_of(input.node.members, [&](const Member &member) {
          return member.key == reader.name;
        }))
      return malformed(input.field, "\"" + reader.name + "\" is missing");
  return readMembers(input, readers, target);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static const MemberReader<Inventory::Tensor> tensorMembers[] = {
    {"name",
     [](const Input &input, Inventory::Tensor &tensor) {
       return readName(input, tensor.name);
     }},
    {"type",
     [](const Input &input, Inventory::Tensor &tensor) {
       return readName(input, tensor.type);
     }},
    {"dtype",
     [](const Input &input, Inventory::Tensor &tensor) {
       return readText(input, tensor.dtype);
     }},
    {"view", ignore},
    {"prev_shape",
     [](const Input &input, Inventory::Tensor &tensor) {
       return readIntegers(input, extentBounds, tensor.prevShape);
     }},
    {"tied_to", ignore},
    {"shape",
     [](const Input &input, Inventory::Tensor &tensor) {
       return readIntegers(input, extentBounds, tensor.shape);
     }},
};

static Error readBox(const Input &input, Box &box) {
  std::vector<Span> spans;
  Error error = forElements(input, [&](const Input &axis) -> Error {
    std::vector<int64_t> bounds;
    if (Error error = readIntegers(axis, extentBounds, bounds))
      return error;
    if (bounds.size() != 2 || bounds[0] > bounds[1])
      return expected(axis, "the begin and the end of an axis");
    spans.push_back({bounds[0], bounds[1]});
    return Error::success();
  });
  box = Box(BoxView(spans.data(), spans.size()));
  return error;
}

static Error readTensors(const Input &input, Inventory::Shard &shard) {
  if (!shard.tensors.empty())
    return malformed(input.field, "expected \"tensor\" or \"tensors\", got "
                                  "both; remove one of them");
  if (input.node.kind == Kind::Array)
    return readIntegers(input, countBounds, shard.tensors);
  return readInteger(input, countBounds, shard.tensors.emplace_back());
}

static const MemberReader<Inventory::Shard> shardMembers[] = {
    {"tensor",
     [](const Input &input, Inventory::Shard &shard) {
       if (input.node.kind == Kind::Array)
         return expected(input, "one tensor");
       return readTensors(input, shard);
     }},
    {"tensors",
     [](const Input &input, Inventory::Shard &shard) {
       if (input.node.kind != Kind::Array)
         return expected(input, "a list of tensors");
       return readTensors(input, shard);
     }},
    {"boxes",
     [](const Input &input, Inventory::Shard &shard) {
       return forElements(input, [&](const Input &box) {
         return readBox(box, shard.boxes.emplace_back());
       });
     }},
};

static Error readDevice(const Input &input, Inventory::Device &device) {
  return readInteger(input, countBounds, device.device);
}

static Error readHas(const Input &input, Inventory::Device &device) {
  return readIntegers(input, countBounds, device.has);
}

static const MemberReader<Inventory::Device> deviceMembers[] = {
    {"device", readDevice},
    {"has", readHas},
};

/// Roles are numbered by their order.
static const MemberReader<Inventory::Device> roleMembers[] = {
    {"role", ignore},
    {"device", readDevice},
    {"has", readHas},
};

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

static bool fits(const Box &box, const Inventory::Tensor &tensor) {
  if (box.rank() != tensor.shape.size())
    return false;
  for (unsigned axis = 0; axis < box.rank(); ++axis)
    if (box[axis].end > tensor.getExtent(axis))
      return false;
  return true;
}

static Error checkShard(const Inventory &inventory,
                        const Inventory::Shard &shard, const Input &input) {
  if (shard.tensors.empty())
    return malformed(input.field, "\"tensor\" is missing; name one, or several "
                                  "as \"tensors\"");
  llvm::DenseSet<int64_t> seen;
  for (int64_t number : shard.tensors) {
    if (number >= static_cast<int64_t>(inventory.tensors.size()))
      return malformed(input.field, "there is no tensor " + Twine(number));
    if (!seen.insert(number).second)
      return malformed(input.field, "tensor " + Twine(number) +
                                        " is listed twice; list it once");
    const Inventory::Tensor &tensor = inventory.tensors[number];
    for (const Box &box : shard.boxes)
      if (!fits(box, tensor))
        return malformed(input.field,
                         "a box is not within \"" + tensor.name + "\"");
  }
  return Error::success();
}

static Error checkHas(const Inventory &inventory,
                      const Inventory::Device &device, const Input &input) {
  for (int64_t shard : device.has)
    if (shard >= static_cast<int64_t>(inventory.shards.size()))
      return malformed(input.field, "there is no shard " + Twine(shard));
  return Error::success();
}

static Error readNextDevice(const Input &entry, Inventory &inventory) {
  Inventory::Device &device = inventory.devices.emplace_back();
  if (Error error = readObject(entry, deviceMembers, {}, device))
    return error;
  if (inventory.devices.size() > 1 &&
      inventory.devices.end()[-2].device >= device.device)
    return malformed(entry.field, "device " + Twine(device.device) +
                                      " must come after the one before it");
  return checkHas(inventory, device, entry);
}

/// Either all roles have a device, or the planner chooses those of all.
static Error readNextRole(const Input &entry, Inventory &inventory) {
  const int64_t number = inventory.devices.size();
  Inventory::Device &role = inventory.devices.emplace_back();
  if (Error error = readObject(entry, roleMembers, {"role", "device"}, role))
    return error;
  for (const Member &member : entry.node.members)
    if (member.key == "role" &&
        (member.value.kind != Kind::Integer || member.value.integer != number))
      return expected(memberOf(entry, member),
                      "role " + Twine(number) +
                          ", as roles are numbered from 0 in their order");
  if ((role.device < 0) != (inventory.devices.front().device < 0))
    return malformed(entry.field, "a role has a device and another has none; "
                                  "name the device of every role, or of none");
  return checkHas(inventory, role, entry);
}

static Error checkFormat(const Input &input, Inventory &) {
  if (input.node.kind == Kind::String && input.node.text == "etc-inventory")
    return Error::success();
  return expected(input, "\"etc-inventory\"");
}

static Error checkVersion(const Input &input, Inventory &) {
  if (input.node.kind == Kind::Integer && input.node.integer == 1)
    return Error::success();
  return expected(input, "version 1");
}

template <Error (*read)(const Input &, Inventory &)>
static Error readEntries(const Input &input, Inventory &inventory) {
  return forElements(
      input, [&](const Input &entry) { return read(entry, inventory); });
}

static const MemberReader<Inventory> members[] = {
    {"format", checkFormat},
    {"version", checkVersion},
    {"tensors",
     [](const Input &input, Inventory &inventory) {
       return forElements(input, [&](const Input &entry) {
         return readObject(entry, tensorMembers,
                           {"dtype", "view", "prev_shape", "tied_to"},
                           inventory.tensors.emplace_back());
       });
     }},
    {"shards",
     [](const Input &input, Inventory &inventory) {
       return forElements(input, [&](const Input &entry) -> Error {
         Inventory::Shard &shard = inventory.shards.emplace_back();
         if (Error error =
                 readObject(entry, shardMembers, {"tensor", "tensors"}, shard))
           return error;
         return checkShard(inventory, shard, entry);
       });
     }},
    {"devices", readEntries<readNextDevice>},
    {"roles", readEntries<readNextRole>},
};

/// One of the two lists says who holds what.
static Error checkLists(const Input &input) {
  auto has = [&](StringRef key) {
    return llvm::any_of(input.node.members, [&](const Member &member) {
      return member.key == key;
    });
  };
  if (has("devices") && has("roles"))
    return malformed(input.field,
                     "expected \"devices\" or \"roles\", got both; remove one "
                     "of them");
  if (!has("devices") && !has("roles"))
    return malformed(input.field, "\"devices\" is missing");
  return Error::success();
}

llvm::Expected<Inventory> json::readInventory(const Input &input) {
  Inventory inventory;
  if (Error error = readObject(input, members, {"devices", "roles"}, inventory))
    return error;
  if (Error error = checkLists(input))
    return error;
  if (inventory.devices.empty())
    return malformed(input.field, "no device holds anything");
  if (Error error = checkInventory(inventory, input))
    return error;
  return inventory;
}

llvm::Expected<Inventory> etc::request::parseInventory(StringRef text,
                                                       StringRef fileName) {
  llvm::Expected<Node> node = parse(text, fileName);
  if (!node)
    return node.takeError();
  return json::readInventory(
      {*node, {{fileName.str(), node->line, node->column}, "inventory"}});
}

llvm::Expected<Inventory> etc::request::readInventory(StringRef path,
                                                      const Field &field) {
  llvm::Expected<std::string> text = readFile(path, mostBytes, field);
  if (!text)
    return text.takeError();
  return parseInventory(*text, path);
}

std::optional<std::vector<int64_t>> Inventory::getDevices() const {
  std::vector<int64_t> list;
  for (const Device &device : devices)
    list.push_back(device.device);
  return list.empty() || list.front() < 0 ? std::nullopt : std::optional(list);
}

void etc::request::sideOfInventory(Inventory inventory, const Field &field,
                                   SideSpec &side) {
  side.parallel = Parallelism();
  side.parallel.dp = inventory.devices.size();
  side.devices = inventory.getDevices();
  side.devicesWhere = field.where;
  side.inventory = std::make_shared<const Inventory>(std::move(inventory));
}

Error etc::request::inventoryOfFile(StringRef path, const Field &field,
                                    SideSpec &side) {
  llvm::Expected<Inventory> inventory = readInventory(path, field);
  if (!inventory)
    return inventory.takeError();
  sideOfInventory(std::move(*inventory), field, side);
  return Error::success();
}

Error json::readSideInventory(const Input &input, SideSpec &side) {
  if (input.node.kind == Kind::String)
    return inventoryOfFile(input.node.text, input.field, side);
  if (input.node.kind != Kind::Object)
    return expected(input, "the name of a file, or an inventory");
  llvm::Expected<Inventory> inventory = readInventory(input);
  if (!inventory)
    return inventory.takeError();
  sideOfInventory(std::move(*inventory), input.field, side);
  return Error::success();
}
