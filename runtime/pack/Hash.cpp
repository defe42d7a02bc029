#include "pack/Hash.h"

#include <cstring>

using namespace etc::runtime;

// Compiled for wider vectors too; the loader takes what the processor has.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&         \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ETC_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define ETC_VECTOR_CLONES
#endif

ETC_VECTOR_CLONES
static uint64_t hashWords(const std::byte *data, uint64_t words, uint64_t key) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i != words; ++i) {
    uint64_t word;
    std::memcpy(&word, data + i * sizeof word, sizeof word);
    sum += hashWord(word, key);
    key += sizeof word * kPositionKey; // keyAt(), without a product
  }
  return sum;
}

uint64_t etc::runtime::hashBytes(const std::byte *data, uint64_t bytes,
                                 uint64_t position) {
  const uint64_t units = bytes / kHashUnit, whole = units * kHashUnit;
  uint64_t sum = hashWords(data, units * 2, keyAt(position));
  if (whole != bytes) {
    uint64_t words[2]{};
    std::memcpy(words, data + whole, bytes - whole);
    sum += hashUnit(words[0], words[1], position + whole);
  }
  return sum;
}
