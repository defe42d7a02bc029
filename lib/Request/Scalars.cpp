//===- Scalars.cpp - Numbers, lists and names in requests -----------------===//

#include "Scalars.h"

#include "etc/Request/States.h"
#include "etc/Request/Values.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace etc::request;
using llvm::Twine;

static std::string quoted(llvm::StringRef text) {
  return ("\"" + text + "\"").str();
}

llvm::Error etc::request::expectedInteger(Bounds bounds, const Field &field,
                                          llvm::StringRef found) {
  llvm::StringRef kind =
      bounds.least == 0 ? "an integer" : "a positive integer";
  llvm::StringRef range = bounds.least == 0 ? " from 0 to " : " up to ";
  int64_t value;
  // The limit is only worth saying to someone who has met it.
  bool tooLarge =
      llvm::all_of(found, llvm::isDigit) &&
      (found.getAsInteger(10, value) ? !found.empty() : value > bounds.most);
  if (tooLarge || bounds.least == 0)
    return malformed(field, "expected " + kind + range + Twine(bounds.most) +
                                ", got " + found);
  return malformed(field, "expected " + kind + ", got " + found);
}

llvm::Expected<int64_t> etc::request::parseInteger(llvm::StringRef text,
                                                   Bounds bounds,
                                                   const Field &field) {
  int64_t value;
  if (!llvm::all_of(text, llvm::isDigit))
    return expectedInteger(bounds, field, quoted(text));
  if (text.getAsInteger(10, value))
    return expectedInteger(bounds, field, text.empty() ? "\"\"" : text);
  if (value < bounds.least || value > bounds.most)
    return expectedInteger(bounds, field, text);
  return value;
}

llvm::Expected<std::vector<int64_t>>
etc::request::parseIntegers(llvm::StringRef text, Bounds bounds,
                            const Field &field) {
  std::vector<int64_t> numbers;
  if (text.empty())
    return numbers;
  for (llvm::StringRef part : llvm::split(text, ',')) {
    auto number = parseInteger(part, bounds, field);
    if (!number)
      return number.takeError();
    numbers.push_back(*number);
  }
  return numbers;
}

llvm::Error etc::request::listedTwice(int64_t device, const Field &field) {
  return malformed(field, "device " + Twine(device) +
                              " is listed twice; list every device once");
}

llvm::Expected<std::vector<int64_t>>
etc::request::sortedDevices(std::vector<int64_t> devices, const Field &field) {
  llvm::sort(devices);
  auto twice = std::adjacent_find(devices.begin(), devices.end());
  if (twice != devices.end())
    return listedTwice(*twice, field);
  return devices;
}

llvm::Error etc::request::checkType(const ModelSpec &model,
                                    llvm::StringRef name, const Field &field) {
  for (const State &state : statesOf(model))
    if (state.name == name && state.recomputed)
      return malformed(field, quoted(name) +
                                  " is recomputed by the trainer from " +
                                  state.derivedFrom +
                                  " where that lands, and not moved; leave it "
                                  "out");
  return checkWord(typeNames(model), name, field);
}

llvm::Expected<std::vector<std::string>>
etc::request::orderedTypes(const ModelSpec &model,
                           llvm::ArrayRef<std::string> names,
                           const Field &field) {
  for (const std::string &name : names) {
    if (llvm::Error error = checkType(model, name, field))
      return error;
    if (llvm::count(names, name) > 1)
      return malformed(field,
                       quoted(name) + " is listed twice; list every type once");
  }
  if (names.empty())
    return malformed(field, "expected at least one type; " +
                                suggestName("", typeNames(model)));
  std::vector<std::string> ordered;
  for (llvm::StringRef type : typeNames(model))
    if (llvm::is_contained(names, type))
      ordered.push_back(type.str());
  return ordered;
}

static llvm::Error tooManyDevices(const Field &field) {
  return malformed(field, "expected at most " + Twine(maxDevices) +
                              " devices in all nodes, got more");
}

llvm::Expected<std::vector<int64_t>>
etc::request::checkedNodes(std::vector<int64_t> nodes, const Field &field) {
  if (nodes.empty())
    return malformed(field, "expected at least one node, got none");
  int64_t total = 0;
  for (int64_t devices : nodes) {
    total += devices;
    if (total > maxDevices)
      return tooManyDevices(field);
  }
  return nodes;
}

llvm::Expected<std::vector<int64_t>>
etc::request::equalNodes(int64_t nodes, int64_t devices, const Field &field) {
  if (nodes > maxDevices / devices)
    return tooManyDevices(field);
  return std::vector<int64_t>(nodes, devices);
}

llvm::Expected<std::vector<int64_t>>
etc::request::parseCluster(llvm::StringRef text, const Field &field) {
  auto [nodes, devices] = text.split('x');
  if (text.find_first_not_of("0123456789x,") != llvm::StringRef::npos)
    return malformed(field, "expected nodes x devices a node, like 6x4, or the "
                            "devices of each node, like 4,4,8; got \"" +
                                text + "\"");
  if (nodes.size() == text.size()) {
    auto list = parseIntegers(text, gridBounds, field);
    return list ? checkedNodes(std::move(*list), field) : std::move(list);
  }
  auto nodeCount = parseInteger(nodes, gridBounds, field);
  if (!nodeCount)
    return nodeCount.takeError();
  auto deviceCount = parseInteger(devices, gridBounds, field);
  if (!deviceCount)
    return deviceCount.takeError();
  return equalNodes(*nodeCount, *deviceCount, field);
}

// Ratios stay exact integers: the same request must give the same plan on any
// machine.
static constexpr int64_t million = 1000000;
static constexpr int64_t largestRatio = 1000;

/// The parts per million of a decimal number, or nothing.
static std::optional<int64_t> parsePartsPerMillion(llvm::StringRef text) {
  auto [whole, fraction] = text.split('.');
  bool hasPoint = whole.size() != text.size();
  int64_t units = 0, parts = 0;
  if (!llvm::all_of(whole, llvm::isDigit) || whole.getAsInteger(10, units) ||
      units > largestRatio)
    return std::nullopt;
  if (!hasPoint)
    return units * million;
  std::string padded = fraction.str();
  if (fraction.empty() || fraction.size() > 6 ||
      !llvm::all_of(fraction, llvm::isDigit))
    return std::nullopt;
  padded.resize(6, '0');
  llvm::StringRef(padded).getAsInteger(10, parts);
  return units * million + parts;
}

llvm::Expected<MemoryBudget>
etc::request::parseMemoryBudget(llvm::StringRef text, const Field &field) {
  if (text.ends_with("x")) {
    std::optional<int64_t> parts = parsePartsPerMillion(text.drop_back());
    if (parts && *parts >= million)
      return MemoryBudget{MemoryBudget::Unit::PartsPerMillion, *parts};
  }
  int64_t bytes;
  if (llvm::all_of(text, llvm::isDigit) && !text.getAsInteger(10, bytes) &&
      bytes > 0)
    return MemoryBudget{MemoryBudget::Unit::Bytes, bytes};
  return malformed(field,
                   "expected a number of bytes, or a ratio from 1x to " +
                       Twine(largestRatio) +
                       "x with at most six decimals such as 1.05x, got " +
                       quoted(text));
}
