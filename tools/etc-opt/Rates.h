//===- Rates.h - --rates --------------------------------------------------===//

#ifndef ETC_TOOLS_ETCOPT_RATES_H
#define ETC_TOOLS_ETCOPT_RATES_H

#include "Options.h"
#include "etc/Planner/Rates.h"

namespace etc {

/// The rates of --rates, which can be parsed; nothing where it is not given.
std::optional<Rates> givenRates(const PlannerOptions &options);

/// Says that the text of --rates is no pair of rates; returns the exit status.
int failRates(const std::string &text);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_RATES_H
