// The constraints (S1) to (S5) of a solution. Nothing here knows how a solution
// is found.

#include "../Message.h"
#include "etc/Optimize/Routing/Solution.h"

#include <algorithm>
#include <tuple>

namespace etc::routing {

using optimize::at;
using optimize::Message;
using optimize::text;

namespace {

class Verifier {
public:
  Verifier(const Problem &problem, const Solution &solution);

  Message checkHops() const;
  Message checkReceipts() const;
  Message checkOrder() const;
  Message checkTransit() const;
  Message checkLoads() const;

private:
  bool holds(int32_t atom, int32_t device) const {
    const auto &set = problem.holdersOf(problem.atoms[atom]);
    return std::binary_search(set.begin(), set.end(), device);
  }
  bool needs(int32_t atom, int32_t device) const {
    const auto &set = problem.needersOf(problem.atoms[atom]);
    return std::binary_search(set.begin(), set.end(), device);
  }
  const Hop &hop(size_t number) const { return solution.hops[number]; }
  Message checkHop(size_t number) const;
  Message checkSender(size_t number) const;
  /// Each byte that hops carry to one device, at most once; how many bytes.
  Message checkOnce(size_t first, size_t last, int64_t &bytes) const;

  const Problem &problem;
  const Solution &solution;
  /// Numbers of hops: by (atom, receiver, begin), and by (atom, sender, begin).
  std::vector<size_t> received, sent;
};

Verifier::Verifier(const Problem &problem, const Solution &solution)
    : problem(problem), solution(solution) {
  for (size_t i = 0; i < solution.hops.size(); ++i)
    received.push_back(i);
  sent = received;
  std::sort(received.begin(), received.end(), [&](size_t a, size_t b) {
    return std::tie(hop(a).atom, hop(a).to, hop(a).begin, a) <
           std::tie(hop(b).atom, hop(b).to, hop(b).begin, b);
  });
  std::sort(sent.begin(), sent.end(), [&](size_t a, size_t b) {
    return std::tie(hop(a).atom, hop(a).from, hop(a).begin, a) <
           std::tie(hop(b).atom, hop(b).from, hop(b).begin, b);
  });
}

Message Verifier::checkHop(size_t number) const {
  const Hop &it = hop(number);
  const std::string place = at("hops", number);
  if (it.atom < 0 || size_t(it.atom) >= problem.atoms.size())
    return text(place, ".atom: ", it.atom, " is not in [0, ",
                problem.atoms.size(), ")");
  for (int32_t device : {it.from, it.to}) {
    if (device < 0 || size_t(device) >= problem.devices.size())
      return text(place, ": device ", device, " is not in [0, ",
                  problem.devices.size(), ")");
    if (!problem.takesPart(device))
      return text(place, ": device ", device, " takes no part");
  }
  if (it.from == it.to)
    return text(place, ": device ", it.from, " sends to itself");
  if (it.stage < 0)
    return text(place, ".stage: must be at least 0, got ", it.stage);
  const Atom &atom = problem.atoms[it.atom];
  if (it.begin < 0 || it.begin >= it.end || it.end > atom.bytes)
    return text(place, ": [", it.begin, ", ", it.end,
                ") is no interval of [0, ", atom.bytes, ")");
  if (it.begin % atom.grain != 0 ||
      (it.end % atom.grain != 0 && it.end != atom.bytes))
    return text(place, ": [", it.begin, ", ", it.end,
                ") is not cut at the grain ", atom.grain);
  return std::nullopt;
}

Message Verifier::checkHops() const {
  for (size_t i = 0; i < solution.hops.size(); ++i)
    if (Message error = checkHop(i))
      return error;
  return std::nullopt;
}

Message Verifier::checkOnce(size_t first, size_t last, int64_t &bytes) const {
  for (size_t i = first; i < last; ++i) {
    const Hop &it = hop(received[i]);
    bytes += it.end - it.begin;
    if (i > first && hop(received[i - 1]).end > it.begin)
      return text(at("hops", received[i]), ": device ", it.to,
                  " receives byte ", it.begin, " of ", at("atoms", it.atom),
                  " twice");
  }
  return std::nullopt;
}

Message Verifier::checkReceipts() const {
  std::vector<size_t> served(problem.atoms.size());
  for (size_t first = 0, last = 0; first < received.size(); first = last) {
    const Hop &it = hop(received[first]);
    while (last < received.size() && hop(received[last]).atom == it.atom &&
           hop(received[last]).to == it.to)
      ++last;
    const std::string place = at("hops", received[first]);
    if (holds(it.atom, it.to))
      return text(place, ": device ", it.to, " holds ", at("atoms", it.atom),
                  " and receives it");
    const bool isNeeder = needs(it.atom, it.to);
    if (!isNeeder && !problem.mayTransit(problem.atoms[it.atom]))
      return text(place, ": device ", it.to, " does not need ",
                  at("atoms", it.atom), ", and there is no transit");
    int64_t bytes = 0;
    if (Message error = checkOnce(first, last, bytes))
      return error;
    if (!isNeeder)
      continue;
    ++served[it.atom];
    if (bytes != problem.atoms[it.atom].bytes)
      return text(at("atoms", it.atom), ": device ", it.to, " receives ", bytes,
                  " of ", problem.atoms[it.atom].bytes, " bytes");
  }
  for (size_t i = 0; i < served.size(); ++i)
    if (size_t needers = problem.needersOf(problem.atoms[i]).size();
        served[i] != needers)
      return text(at("atoms", i), ": ", served[i], " of ", needers,
                  " needers receive it");
  return std::nullopt;
}

Message Verifier::checkSender(size_t number) const {
  const Hop &it = hop(number);
  if (holds(it.atom, it.from))
    return std::nullopt;
  // The last receipt that begins at or before the interval, and those behind.
  auto next = std::upper_bound(received.begin(), received.end(), it.begin,
                               [&](int64_t begin, size_t other) {
                                 return std::tie(it.atom, it.from, begin) <
                                        std::tie(hop(other).atom, hop(other).to,
                                                 hop(other).begin);
                               });
  int64_t covered = it.begin;
  if (next != received.begin())
    --next;
  for (; next != received.end() && covered < it.end; ++next) {
    const Hop &receipt = hop(*next);
    if (receipt.atom != it.atom || receipt.to != it.from ||
        receipt.begin > covered || receipt.end <= covered)
      break;
    if (receipt.stage >= it.stage)
      return text(at("hops", number), ": stage ", it.stage, " sends byte ",
                  covered, ", which arrives in stage ", receipt.stage);
    covered = receipt.end;
  }
  if (covered >= it.end)
    return std::nullopt;
  return text(at("hops", number), ": device ", it.from, " never has byte ",
              covered, " of ", at("atoms", it.atom));
}

Message Verifier::checkOrder() const {
  for (size_t i = 0; i < solution.hops.size(); ++i)
    if (Message error = checkSender(i))
      return error;
  return std::nullopt;
}

/// What arrives in transit is sent on.
Message Verifier::checkTransit() const {
  auto next = sent.begin();
  for (size_t number : received) {
    const Hop &it = hop(number);
    if (needs(it.atom, it.to))
      continue;
    auto isBefore = [&](const Hop &other) {
      return std::tie(other.atom, other.from) < std::tie(it.atom, it.to);
    };
    while (next != sent.end() && isBefore(hop(*next)))
      ++next;
    int64_t covered = it.begin;
    for (auto at = next; at != sent.end() && covered < it.end; ++at) {
      const Hop &other = hop(*at);
      if (other.atom != it.atom || other.from != it.to || other.begin > covered)
        break;
      covered = std::max(covered, other.end);
    }
    if (covered < it.end)
      return text(at("hops", number), ": device ", it.to,
                  " neither needs byte ", covered, " nor sends it on");
  }
  return std::nullopt;
}

Message checkLoad(const char *array, const std::vector<int64_t> &stated,
                  const std::vector<int64_t> &counted) {
  if (stated.size() != counted.size())
    return text("loads.", array, ": expected ", counted.size(),
                " entries, got ", stated.size());
  for (size_t i = 0; i < counted.size(); ++i)
    if (stated[i] != counted[i])
      return text("loads.", at(array, i), ": the hops carry ", counted[i],
                  " bytes, got ", stated[i]);
  return std::nullopt;
}

Message Verifier::checkLoads() const {
  Loads counted{std::vector<int64_t>(problem.devices.size()),
                std::vector<int64_t>(problem.devices.size()),
                std::vector<int64_t>(problem.nics.size()),
                std::vector<int64_t>(problem.nics.size())};
  for (const Hop &it : solution.hops) {
    const int64_t bytes = it.end - it.begin;
    const bool isInside = problem.nodeOf(it.from) == problem.nodeOf(it.to);
    (isInside ? counted.linkOut[it.from]
              : counted.nicOut[problem.devices[it.from].nic]) += bytes;
    (isInside ? counted.linkIn[it.to]
              : counted.nicIn[problem.devices[it.to].nic]) += bytes;
  }
  const Loads &stated = solution.loads;
  Time slowest;
  for (size_t i = 0; i < problem.devices.size(); ++i)
    for (int64_t bytes : {counted.linkOut[i], counted.linkIn[i]})
      slowest = std::max(slowest, Time{bytes, problem.devices[i].linkRate});
  for (size_t i = 0; i < problem.nics.size(); ++i)
    for (int64_t bytes : {counted.nicOut[i], counted.nicIn[i]})
      slowest = std::max(slowest, Time{bytes, problem.nics[i].rate});
  if (Message error = checkLoad("linkOut", stated.linkOut, counted.linkOut))
    return error;
  if (Message error = checkLoad("linkIn", stated.linkIn, counted.linkIn))
    return error;
  if (Message error = checkLoad("nicOut", stated.nicOut, counted.nicOut))
    return error;
  if (Message error = checkLoad("nicIn", stated.nicIn, counted.nicIn))
    return error;
  if (solution.time.rate < 1 || solution.time != slowest)
    return text("time: the slowest resource carries ", slowest.bytes,
                " bytes at ", slowest.rate, " a second, got ",
                solution.time.bytes, " at ", solution.time.rate);
  return std::nullopt;
}

} // namespace

std::optional<std::string> verify(const Problem &problem,
                                  const Solution &solution) {
  if (Message error = check(problem))
    return error;
  const Verifier verifier(problem, solution);
  if (Message error = verifier.checkHops())
    return error;
  if (Message error = verifier.checkReceipts())
    return error;
  if (Message error = verifier.checkOrder())
    return error;
  if (Message error = verifier.checkTransit())
    return error;
  return verifier.checkLoads();
}

} // namespace etc::routing
