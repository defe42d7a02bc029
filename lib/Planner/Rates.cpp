//===- Rates.cpp - How fast links are taken to be -------------------------===//

#include "etc/Planner/Rates.h"

#include "core/plan/PlanIndex.h"
#include "etc/Export/PortLoads.h"
#include "view/simulate/Simulator.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cmath>

using namespace etc;

bool Rates::areValid() const {
  auto isRate = [](double rate) { return rate >= 1e-3 && rate <= 1e6; };
  return isRate(betweenNodes) && isRate(insideNode);
}

std::optional<Rates> Rates::parse(const std::optional<std::string> &text) {
  Rates rates;
  if (!text)
    return rates;
  auto [between, inside] = llvm::StringRef(*text).split(',');
  if (between.getAsDouble(rates.betweenNodes) ||
      inside.getAsDouble(rates.insideNode) || !rates.areValid())
    return std::nullopt;
  return rates;
}

uint64_t Rates::microseconds(const plan::fb::Plan &plan) const {
  PortLoads loads = portLoads(plan);
  // 1 GB/s is 1000 bytes a microsecond.
  return std::ceil(std::max(loads.betweenNodes / (1000 * betweenNodes),
                            loads.insideNode / (1000 * insideNode)));
}

Rates etc::ratesFor(const plan::fb::Plan &plan,
                    const std::optional<Rates> &given) {
  const plan::fb::Resources *resources = plan.resources();
  if (given || !resources)
    return given.value_or(Rates());
  return {static_cast<double>(resources->nic_rate()) / 1e9,
          static_cast<double>(resources->link_rate()) / 1e9};
}

uint64_t etc::portMicroseconds(const plan::fb::Plan &plan,
                               const std::optional<Rates> &given) {
  if (given || !plan.resources())
    return given.value_or(Rates()).microseconds(plan);
  const plan::PlanIndex index(plan);
  return std::ceil(
      1e6 * runtime::busiestPortSeconds(index, runtime::workloadOf(index),
                                        runtime::clusterOf(*plan.resources())));
}
