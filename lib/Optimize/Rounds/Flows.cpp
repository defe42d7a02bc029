#include "Flows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

namespace etc::rounds {
namespace {

__extension__ using Int128 = __int128;

/// Of every unit, the first chunk of its tensor. One that waits for another
/// flow where the chunk before it does not is no part of these: it would hold
/// them up.
std::vector<size_t> findFirsts(const std::vector<Unit> &units) {
  std::vector<size_t> firsts;
  firsts.reserve(units.size());
  for (const Unit &unit : units) {
    const bool goesOn =
        unit.before >= 0 &&
        (unit.after < 0 || units[size_t(unit.before)].after >= 0);
    firsts.push_back(goesOn ? firsts[size_t(unit.before)] : firsts.size());
  }
  return firsts;
}

/// What is the same for all units with one list of touches, of which there are
/// few.
class Lists {
public:
  explicit Lists(const std::vector<Unit> &units);

  int64_t getWeight(size_t unit) const { return weights[listOf[unit]]; }
  size_t getPattern(size_t unit) const { return patternOf[listOf[unit]]; }
  size_t countPatterns() const { return patterns.size(); }
  /// That of units of both.
  size_t merge(size_t one, size_t other);

private:
  /// Which classes are touched, and how: by class, ascending.
  using Pattern = std::vector<std::pair<int32_t, int>>;
  size_t number(Pattern pattern);

  std::vector<size_t> listOf;    ///< [units]
  std::vector<int64_t> weights;  ///< [lists]: the bytes that are touched at all
  std::vector<size_t> patternOf; ///< [lists]
  std::map<Pattern, size_t> numbers;
  std::vector<const Pattern *> patterns; ///< keys of `numbers`
};

Lists::Lists(const std::vector<Unit> &units) {
  std::unordered_map<const Touch *, size_t> known;
  listOf.reserve(units.size());
  for (const Unit &unit : units) {
    const auto [it, isNew] =
        known.try_emplace(unit.touches.begin(), weights.size());
    listOf.push_back(it->second);
    if (!isNew)
      continue;
    int64_t bytes = 0;
    Pattern pattern;
    for (const Touch &touch : unit.touches) {
      bytes += touch.allocated + touch.released + touch.sent + touch.received;
      pattern.emplace_back(touch.deviceClass, (touch.allocated > 0) * 8 +
                                                  (touch.released > 0) * 4 +
                                                  (touch.sent > 0) * 2 +
                                                  (touch.received > 0));
    }
    weights.push_back(bytes);
    patternOf.push_back(number(std::move(pattern)));
  }
}

size_t Lists::number(Pattern pattern) {
  const auto [it, isNew] =
      numbers.try_emplace(std::move(pattern), numbers.size());
  if (isNew)
    patterns.push_back(&it->first);
  return it->second;
}

size_t Lists::merge(size_t one, size_t other) {
  if (one == other)
    return one;
  Pattern both = *patterns[one];
  for (const auto &[deviceClass, kinds] : *patterns[other]) {
    auto it =
        std::lower_bound(both.begin(), both.end(), std::pair(deviceClass, 0));
    if (it == both.end() || it->first != deviceClass)
      it = both.insert(it, {deviceClass, 0});
    it->second |= kinds;
  }
  return number(std::move(both));
}

/// Others that wait for a unit are derived from what it brings.
bool isPassedOn(const Unit &unit) {
  return unit.after >= 0 &&
         std::any_of(unit.touches.begin(), unit.touches.end(),
                     [](const Touch &touch) { return touch.sent > 0; });
}

/// Numbers flows by what tells them apart.
class FlowNumbers {
public:
  explicit FlowNumbers(size_t patterns) : ofPattern(patterns) {}

  /// `after`: the flow that brought what this one passes on, if that counts.
  size_t find(size_t pattern, bool isDeferred, std::optional<size_t> after) {
    for (const Flow &it : ofPattern[pattern])
      if (it.isDeferred == isDeferred && it.after == after)
        return it.number;
    ofPattern[pattern].push_back({isDeferred, after, count});
    return count++;
  }

private:
  struct Flow {
    bool isDeferred;
    std::optional<size_t> after;
    size_t number;
  };
  std::vector<std::vector<Flow>> ofPattern; ///< few of each
  size_t count = 0;
};

/// The flow of every unit: tensors whose first chunks do the same to the same
/// classes. What is there before deferred units comes in its own order, so
/// there tensors are in a flow for what all of their chunks do, cut or whole.
///
/// In level rounds, what a flow passes on has come with one flow. If it had
/// come with several, which progress apart, one that is late would hold up what
/// the others have brought. Few rounds are found with fewer flows, which open
/// fewer tensors at a time.
std::vector<size_t> numberFlows(const std::vector<Unit> &units, bool areLevel,
                                Lists &lists) {
  const std::vector<size_t> firsts = findFirsts(units);
  const bool isOrdered =
      std::any_of(units.begin(), units.end(),
                  [](const Unit &unit) { return unit.isDeferred; });
  std::vector<size_t> patterns(units.size());
  for (size_t i = 0; i < units.size(); ++i) {
    if (firsts[i] == i)
      patterns[i] = lists.getPattern(i);
    else if (isOrdered && !units[i].isDeferred)
      patterns[firsts[i]] =
          lists.merge(patterns[firsts[i]], lists.getPattern(i));
  }
  FlowNumbers numbers(lists.countPatterns());
  std::vector<size_t> flows;
  flows.reserve(units.size());
  for (size_t i = 0; i < units.size(); ++i) {
    if (firsts[i] != i) {
      flows.push_back(flows[firsts[i]]);
      continue;
    }
    std::optional<size_t> after;
    if (areLevel && isPassedOn(units[i]))
      after = flows[size_t(units[i].after)];
    flows.push_back(numbers.find(patterns[i], units[i].isDeferred, after));
  }
  return flows;
}

/// For every unit, the share of its flow that is done when half of it is.
std::vector<int64_t> findShares(const Lists &lists,
                                const std::vector<size_t> &flowOf) {
  constexpr int64_t scale = int64_t(1) << 40;
  std::vector<Int128> total(flowOf.size()), done(flowOf.size());
  std::vector<int64_t> shares;
  shares.reserve(flowOf.size());
  for (size_t i = 0; i < flowOf.size(); ++i)
    total[flowOf[i]] += lists.getWeight(i);
  for (size_t i = 0; i < flowOf.size(); ++i) {
    const size_t flow = flowOf[i];
    const int64_t weight = lists.getWeight(i);
    shares.push_back(total[flow]
                         ? static_cast<int64_t>((2 * done[flow] + weight) *
                                                scale / (2 * total[flow]))
                         : 0);
    done[flow] += weight;
  }
  return shares;
}

} // namespace

UnitFlows findFlows(const Problem &problem) {
  Lists lists(problem.units);
  std::vector<size_t> flows =
      numberFlows(problem.units, problem.ports > 0, lists);
  std::vector<int64_t> shares = findShares(lists, flows);
  return {std::move(flows), std::move(shares)};
}

} // namespace etc::rounds
