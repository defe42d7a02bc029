//===- Devices.h - Devices and ranges of them -------------------*- C++ -*-===//
//
// Options name devices in text such as 0-7,12. Ranges stay ranges until it is
// known that they are of a cluster, or name no device twice: each may name a
// million of them.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_REQUEST_DEVICES_H
#define ETC_REQUEST_DEVICES_H

#include "etc/Request/Diagnostic.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etc::request {

/// The devices `first` to `last`, these two included.
struct DeviceRange {
  int64_t first = 0, last = 0;
};

/// A device, or an ascending range of them, of no cluster larger than requests
/// may have.
std::optional<DeviceRange> parseDeviceRange(llvm::StringRef text);

/// What messages say of a text that is none.
std::string expectedDeviceRange(llvm::StringRef text);

/// The devices of ranges with commas between, sorted; empty text names none.
/// One that is listed twice is Malformed.
llvm::Expected<std::vector<int64_t>> parseDevices(llvm::StringRef text,
                                                  const Field &field);

/// Every device of the ranges once, sorted.
std::vector<int64_t> devicesOf(std::vector<DeviceRange> ranges);

} // namespace etc::request

#endif // ETC_REQUEST_DEVICES_H
