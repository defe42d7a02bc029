#include "Units.h"

#include <cstdio>

std::string etc::run::formatNumber(double value, int decimals) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
  return buffer;
}

std::string etc::run::formatBytes(uint64_t bytes) {
  const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};
  if (bytes < 1000)
    return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1000;
  unsigned unit = 0;
  while (value >= 1000 && unit != 4) {
    value /= 1000;
    ++unit;
  }
  return formatNumber(value, 1) + " " + units[unit];
}
