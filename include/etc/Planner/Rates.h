//===- Rates.h - How fast links are taken to be -----------------*- C++ -*-===//

#ifndef ETC_PLANNER_RATES_H
#define ETC_PLANNER_RATES_H

#include "core/plan/plan_generated.h"

#include <optional>
#include <string>

namespace etc {

/// GB/s (decimal) of a device in each direction. The defaults are a card of 400
/// Gb/s a device, and the NVLink of a H100.
struct Rates {
  double betweenNodes = 50, insideNode = 450;

  /// "50,450"; nothing where the text is no such pair. Absent: the defaults.
  static std::optional<Rates> parse(const std::optional<std::string> &text);

  /// Whether both are between 0.001 and 1 000 000 GB/s.
  bool areValid() const;

  /// The time of a plan whose busiest link runs at its rate all along, while
  /// every other one hides behind it; in microseconds, rounded up. A bound that
  /// a run approaches, not a forecast of its latencies.
  uint64_t microseconds(const plan::fb::Plan &plan) const;
};

/// The rates that are given, or else those of the plan's links and NICs; the
/// defaults where it states none.
Rates ratesFor(const plan::fb::Plan &plan, const std::optional<Rates> &given);

/// The same time at the rates that are given, or else at those of the plan's
/// cluster, where devices may share NICs.
uint64_t portMicroseconds(const plan::fb::Plan &plan,
                          const std::optional<Rates> &given);

} // namespace etc

#endif // ETC_PLANNER_RATES_H
