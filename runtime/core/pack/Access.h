// Loads and stores of a device's memory by address: each is one access.

#ifndef ETC_RUNTIME_CORE_PACK_ACCESS_H
#define ETC_RUNTIME_CORE_PACK_ACCESS_H

#include "core/pack/HostDevice.h"

#include <cstdint>
#include <cstring>

namespace etc::runtime {

/// 16 bytes, the most that a thread reads or writes at once.
struct alignas(16) Words {
  uint64_t low, high;
};

template <typename Value> ETC_HOST_DEVICE inline Value load(uint64_t address) {
  Value value;
  memcpy(&value,
         __builtin_assume_aligned(reinterpret_cast<const void *>(address),
                                  sizeof value),
         sizeof value);
  return value;
}

template <typename Value>
ETC_HOST_DEVICE inline void store(uint64_t address, Value value) {
  memcpy(
      __builtin_assume_aligned(reinterpret_cast<void *>(address), sizeof value),
      &value, sizeof value);
}

#ifdef __CUDA_ARCH__
// As the instructions, since compilers cut structures into their members. They
// stay in their order: loads that stand before a store are issued before it.
template <> ETC_HOST_DEVICE inline Words load<Words>(uint64_t address) {
  Words words;
  asm volatile("ld.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(words.low), "=l"(words.high)
               : "l"(address));
  return words;
}

template <>
ETC_HOST_DEVICE inline void store<Words>(uint64_t address, Words words) {
  asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(address),
               "l"(words.low), "l"(words.high)
               : "memory");
}
#endif

/// `width` bytes, at most 8, as the low ones of a word. It divides the address.
ETC_HOST_DEVICE inline uint64_t loadPiece(uint64_t address, uint32_t width) {
  switch (width) {
  case 8:
    return load<uint64_t>(address);
  case 4:
    return load<uint32_t>(address);
  case 2:
    return load<uint16_t>(address);
  default:
    return load<uint8_t>(address);
  }
}

ETC_HOST_DEVICE inline void storePiece(uint64_t address, uint32_t width,
                                       uint64_t value) {
  switch (width) {
  case 8:
    return store(address, value);
  case 4:
    return store(address, static_cast<uint32_t>(value));
  case 2:
    return store(address, static_cast<uint16_t>(value));
  default:
    return store(address, static_cast<uint8_t>(value));
  }
}

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_PACK_ACCESS_H
