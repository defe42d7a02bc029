#include "BoundWords.h"

#include <algorithm>
#include <cstdio>

namespace etc::routing {

std::string scaled(double value, std::initializer_list<const char *> units) {
  auto unit = units.begin();
  for (; value >= 1000 && unit + 1 != units.end(); ++unit)
    value /= 1000;
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.4g %s", value, *unit);
  return buffer;
}

std::string listed(std::string out, const std::vector<int32_t> &list) {
  out += list.size() > 1 ? "s " : " ";
  constexpr size_t shown = 4;
  for (size_t i = 0; i < std::min(list.size(), shown); ++i)
    out += (i ? ", " : "") + std::to_string(list[i]);
  if (list.size() > shown)
    out += " and " + std::to_string(list.size() - shown) + " more";
  return out;
}

std::string listRates(const RateCounts &counts, std::string before,
                      bool isOne) {
  for (auto [rate, count] : counts) {
    before += before.empty() ? "" : " + ";
    before += isOne ? "" : std::to_string(count) + " x ";
    before += scaled(double(rate), {"B/s", "kB/s", "MB/s", "GB/s"});
  }
  return before;
}

std::string describeTime(const Time &time) {
  return ": nothing is below " +
         scaled(time.seconds() * 1e6, {"us", "ms", "s"});
}

} // namespace etc::routing
