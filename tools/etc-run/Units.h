// Numbers for people.

#ifndef ETC_RUN_UNITS_H
#define ETC_RUN_UNITS_H

#include <cstdint>
#include <string>

namespace etc::run {

/// "12.3 GB": decimal units, as links are sold and as etc-opt prints; one
/// decimal above bytes.
std::string formatBytes(uint64_t bytes);
/// With a fixed number of decimals.
std::string formatNumber(double value, int decimals);

} // namespace etc::run

#endif // ETC_RUN_UNITS_H
