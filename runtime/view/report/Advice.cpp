#include "view/report/Advice.h"

#include "core/plan/PeakRatios.h"
#include "core/plan/Relays.h"
#include "core/plan/TimeBound.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>

using namespace etc::runtime;
using etc::plan::PlanIndex;
namespace fb = etc::plan::fb;

/// A smaller share of the predicted time is not worth a sentence.
constexpr double kWorthAdvice = 0.05;

static std::string formatSeconds(double seconds) {
  char buffer[32];
  if (seconds < 1)
    std::snprintf(buffer, sizeof buffer, "%.4g ms", 1000 * seconds);
  else
    std::snprintf(buffer, sizeof buffer, "%.4g s", seconds);
  return buffer;
}

/// "12.5 ms (3.7%)".
static std::string withShare(double seconds, double all) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, " (%.1f%%)", 100 * seconds / all);
  return formatSeconds(seconds) + buffer;
}

/// What the bound over all roles counts the rates of.
static std::string limitOf(const PlanIndex &index, const fb::RoleBound &bound) {
  const fb::Plan &plan = index.plan();
  if (bound.of_nodes() || bound.witness() != fb::RoleWitness::each)
    return "NICs";
  if (plan.nodes()->size() == 1)
    return "links";
  const auto &nodes = *plan.nodes();
  return std::all_of(nodes.begin(), nodes.end(),
                     [](uint32_t size) { return size == 1; })
             ? "NICs"
             : "links and NICs";
}

/// Roles decide how much is copied, whatever the budget is.
static std::string localSentence(const TimeParts &parts) {
  const std::string added = " add " +
                            formatSeconds(parts.predicted - parts.exchange) +
                            " to the exchange between devices.";
  if (parts.copies > 10 * parts.packing)
    return "Copies within devices" + added +
           " A larger --memory-budget does not shorten them.";
  if (parts.packing > 10 * parts.copies)
    return "Packing and unpacking" + added;
  return "Copies within devices, packing and unpacking" + added;
}

/// Without relays, all that keeps rounds apart is memory. Relays need several
/// rounds in any case, and may leave the budget unused, which plans don't
/// state.
static std::string roundsSentence(const PlanIndex &index,
                                  const TimeParts &parts) {
  const std::string added = "Rounds add " +
                            formatSeconds(parts.exchange - parts.oneRound) +
                            " to what one round would take";
  if (etc::plan::relayedBytes(index) == 0)
    return added + ". A larger --memory-budget allows fewer or fuller rounds.";
  char peak[32];
  std::snprintf(peak, sizeof peak, "%.4fx", etc::plan::peakRatios(index).peak);
  return added +
         ", partly because devices pass bytes on. A larger --memory-budget "
         "helps only if the plan's peak, " +
         peak + ", is close to the present budget.";
}

namespace {
class Advice {
public:
  Advice(const PlanIndex &index, const TimeParts &parts, bool hasBounds)
      : index(index), parts(parts) {
    if (!hasBounds)
      return;
    routes = etc::plan::boundSeconds(index.plan().time_bound());
    roles = etc::plan::roleBoundSeconds(index.plan().role_bound());
  }

  std::vector<std::string> list() const;

private:
  /// "With --place=pack": the roles that the bound holds for.
  std::string here() const {
    return std::string("With --place=") +
           fb::EnumNamePlace(index.plan().role_bound()->place());
  }
  /// What another plan could save at most.
  double saved(double bound) const {
    return std::max(0.0, parts.predicted - bound);
  }
  bool isWorth(double from, double to) const {
    return from - to > kWorthAdvice * parts.predicted;
  }
  std::string nearSentence() const;

  const PlanIndex &index;
  const TimeParts &parts;
  double routes = 0, roles = 0; ///< seconds of bounds; 0: none
};
} // namespace

/// How far the plan is from its bound, where no cause stands out.
std::string Advice::nearSentence() const {
  if (roles > 0)
    return here() + ", other roles, routes and rounds could save at most " +
           withShare(saved(roles), parts.predicted) +
           ". To save more takes fewer bytes or faster " +
           limitOf(index, *index.plan().role_bound()) + ".";
  if (routes > 0)
    return "Other routes and rounds could save these roles at most " +
           withShare(saved(routes), parts.predicted) +
           ". Other roles have no bound here to compare them with.";
  return "This plan takes " + withShare(saved(parts.port), parts.predicted) +
         " longer than its busiest link or NIC alone. Routes and roles have no "
         "bound here to compare them with.";
}

std::vector<std::string> Advice::list() const {
  std::multimap<double, std::string, std::greater<>> gains;
  if (isWorth(parts.predicted, parts.exchange))
    gains.emplace(parts.predicted - parts.exchange, localSentence(parts));
  if (isWorth(parts.exchange, parts.oneRound))
    gains.emplace(parts.exchange - parts.oneRound,
                  roundsSentence(index, parts));
  if (isWorth(parts.oneRound, parts.port))
    gains.emplace(parts.oneRound - parts.port,
                  "Latencies, and messages that wait for each other, add " +
                      formatSeconds(parts.oneRound - parts.port) +
                      " to the busiest link or NIC.");
  if (routes > 0 && isWorth(parts.port, routes))
    gains.emplace(parts.port - routes,
                  "Routes are " + formatSeconds(parts.port - routes) +
                      " above the bound for these roles. A larger "
                      "--memory-budget has room for more transit. Of very "
                      "large plans, faster routes may be found with "
                      "--objective=time, the default, if it is named. Other "
                      "objectives choose routes by bytes.");
  if (routes > 0 && roles > 0 && isWorth(routes, roles))
    gains.emplace(saved(roles), here() + ", other roles could save at most " +
                                    formatSeconds(saved(roles)) + ": " +
                                    formatSeconds(roles) +
                                    " is proved to be the least for all.");
  std::vector<std::string> sentences;
  for (const auto &[gain, sentence] : gains)
    sentences.push_back(sentence);
  if (sentences.empty() && index.plan().summary()->moved_bytes() != 0)
    sentences.push_back(nearSentence());
  return sentences;
}

std::vector<std::string> etc::runtime::adviceOn(const PlanIndex &index,
                                                const TimeParts &parts,
                                                bool hasBounds) {
  return Advice(index, parts, hasBounds).list();
}
