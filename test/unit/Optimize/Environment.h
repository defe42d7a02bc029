// How many random instances a test takes, and from which seed.

#ifndef ETC_TEST_UNIT_OPTIMIZE_ENVIRONMENT_H
#define ETC_TEST_UNIT_OPTIMIZE_ENVIRONMENT_H

#include <cstdint>
#include <cstdlib>

namespace etc::testing {

/// A number that a variable of the environment gives, or else the other one.
inline uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

} // namespace etc::testing

#endif // ETC_TEST_UNIT_OPTIMIZE_ENVIRONMENT_H
