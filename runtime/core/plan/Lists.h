// Lists of numbers of a plan that is being condensed.

#ifndef ETC_PLAN_LISTS_H
#define ETC_PLAN_LISTS_H

#include "core/plan/BytesTable.h"
#include "core/plan/plan_generated.h"

#include <cstdint>
#include <span>
#include <vector>

namespace etc::plan {

/// Lists of numbers, each once: one behind the other, with a run for each.
class Lists {
public:
  Lists(std::vector<uint32_t> &numbers, std::vector<fb::Run> &runs)
      : numbers(numbers), runs(runs) {}

  uint32_t add(std::span<const uint32_t> list) {
    const std::string_view key(reinterpret_cast<const char *>(list.data()),
                               list.size_bytes());
    const auto next = static_cast<uint32_t>(runs.size());
    const uint32_t number = known.findOrAdd(key, next, [&](uint32_t run) {
      return numbers.data() + runs[run].first();
    });
    if (number != next)
      return number;
    runs.emplace_back(numbers.size(), list.size());
    numbers.insert(numbers.end(), list.begin(), list.end());
    return number;
  }

private:
  std::vector<uint32_t> &numbers;
  std::vector<fb::Run> &runs;
  BytesTable known;
};

} // namespace etc::plan

#endif // ETC_PLAN_LISTS_H
