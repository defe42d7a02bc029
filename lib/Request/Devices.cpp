//===- Devices.cpp - Devices and ranges of them ---------------------------===//

#include "etc/Request/Devices.h"

#include "Scalars.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace etc::request;
using llvm::Twine;

static std::optional<int64_t> parseDevice(llvm::StringRef text) {
  int64_t device;
  if (!llvm::all_of(text, llvm::isDigit) || text.getAsInteger(10, device) ||
      device > deviceBounds.most)
    return std::nullopt;
  return device;
}

std::optional<DeviceRange>
etc::request::parseDeviceRange(llvm::StringRef text) {
  const auto [from, to] = text.split('-');
  const bool isRange = from.size() != text.size();
  const std::optional<int64_t> first = parseDevice(from),
                               last = parseDevice(isRange ? to : from);
  if (!first || !last || *last < *first)
    return std::nullopt;
  return DeviceRange{*first, *last};
}

std::string etc::request::expectedDeviceRange(llvm::StringRef text) {
  return ("expected devices from 0 to " + Twine(deviceBounds.most) +
          " or ascending ranges of them, like 0-7,12; got \"" + text + "\"")
      .str();
}

static void sort(std::vector<DeviceRange> &ranges) {
  llvm::sort(ranges, [](const DeviceRange &one, const DeviceRange &other) {
    return one.first < other.first;
  });
}

llvm::Expected<std::vector<int64_t>>
etc::request::parseDevices(llvm::StringRef text, const Field &field) {
  if (text.empty())
    return std::vector<int64_t>();
  std::vector<DeviceRange> ranges;
  for (llvm::StringRef part : llvm::split(text, ',')) {
    std::optional<DeviceRange> range = parseDeviceRange(part);
    if (!range)
      return malformed(field, expectedDeviceRange(part));
    ranges.push_back(*range);
  }
  sort(ranges);
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first <= ranges[i - 1].last)
      return listedTwice(ranges[i].first, field);
  return devicesOf(std::move(ranges));
}

std::vector<int64_t> etc::request::devicesOf(std::vector<DeviceRange> ranges) {
  sort(ranges);
  std::vector<int64_t> devices;
  int64_t next = 0; // after the last one so far
  for (const DeviceRange &range : ranges) {
    for (int64_t device = std::max(next, range.first); device <= range.last;
         ++device)
      devices.push_back(device);
    next = std::max(next, range.last + 1);
  }
  return devices;
}
