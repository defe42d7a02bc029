//===- Limits.h - How large a request may be ------------------------------===//
//
// The limits keep every sum and product that planning forms inside 63 bits.
// docs/request-format.md states them.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_DIALECT_LIMITS_H
#define ETC_DIALECT_LIMITS_H

#include <cstdint>

namespace etc {

/// Of all nodes together.
inline constexpr int64_t mostDevices = int64_t(1) << 20;
inline constexpr int64_t mostLayers = int64_t(1) << 16;
inline constexpr int64_t mostExperts = int64_t(1) << 28;
/// Of all layers and experts together, each by a name of its own.
inline constexpr int64_t mostTensors = int64_t(1) << 17;
/// Of one tensor, in elements.
inline constexpr int64_t mostElements = int64_t(1) << 56;
/// Of the state of one side on all ranks of a stage: whoever adds it up over
/// two slabs or two sides stays inside 63 bits.
inline constexpr int64_t mostBytes = int64_t(1) << 61;
inline constexpr int64_t mostBucketElements = int64_t(1) << 48;
/// Of links and NICs, and of packing, in bytes a second.
inline constexpr int64_t mostRate = 4'000'000'000'000;
inline constexpr int64_t mostPackRate = 1'000'000'000'000'000;
/// Of one node.
inline constexpr int64_t mostNics = int64_t(1) << 20;
/// Of one migration.
inline constexpr int64_t mostRounds = int64_t(1) << 20;

} // namespace etc

#endif // ETC_DIALECT_LIMITS_H
