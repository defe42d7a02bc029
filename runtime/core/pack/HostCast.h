// Casts of runs of fp32 numbers in host memory.

#ifndef ETC_RUNTIME_CORE_PACK_HOSTCAST_H
#define ETC_RUNTIME_CORE_PACK_HOSTCAST_H

#include <cstddef>
#include <cstdint>

namespace etc::runtime {

/// `count` numbers; the memories do not overlap. Whoever is told of the cast
/// sees all of it.
void castRunToBf16(std::byte *to, const std::byte *from, uint64_t count);
void castRunToFp16(std::byte *to, const std::byte *from, uint64_t count);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_PACK_HOSTCAST_H
