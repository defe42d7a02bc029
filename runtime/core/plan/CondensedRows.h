// Pieces of tensors in a row, of a plan that is being condensed; private to
// condensePlan.

#ifndef ETC_PLAN_CONDENSEDROWS_H
#define ETC_PLAN_CONDENSEDROWS_H

#include "core/plan/BytesTable.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace etc::plan {

/// A piece of tensors in a row.
struct Row {
  uint32_t tensor, source, box, cut, count;
};

/// Distinct rows, and how often each is used.
class Rows {
public:
  uint32_t add(const Row &row) {
    const std::string_view key(reinterpret_cast<const char *>(&row),
                               sizeof row);
    const auto next = static_cast<uint32_t>(rows.size());
    const uint32_t number = numbers.findOrAdd(
        key, next, [&](uint32_t other) { return &rows[other]; });
    if (number == next) {
      rows.push_back(row);
      uses.push_back(0);
    }
    ++uses[number];
    return number;
  }
  const Row &operator[](uint32_t number) const { return rows[number]; }
  uint32_t getUses(uint32_t number) const { return uses[number]; }

private:
  std::vector<Row> rows;
  std::vector<uint32_t> uses;
  BytesTable numbers;
};

} // namespace etc::plan

#endif // ETC_PLAN_CONDENSEDROWS_H
