// Tolls by local search: from many starts, some links or NICs at a time begin
// or cease to take tolls wherever that makes the bound slower.

#include "VerifyTolls.h"
#include "etc/Optimize/Routing/Solver.h"

#include <algorithm>
#include <array>
#include <set>

namespace etc::routing {
namespace {

using Set = TollCount::Set;
/// Those whose links send, whose links receive, whose NICs send, whose NICs
/// receive. A NIC is that of all its devices.
using Taking = std::array<Set, 4>;

/// So much is counted, at most: atoms times devices of each candidate. Then
/// only those that searches begin with are counted, up to some more.
constexpr int64_t kMostLooks = 500'000, kMostBegun = 2'000'000;
/// Time that is not worth another look, or another witness: one in so many.
constexpr int64_t kSlack = 256;

/// Whether it is longer by more than the slack.
bool isLonger(const Time &time, const Time &other) {
  return time.seconds() * kSlack > other.seconds() * (kSlack + 1);
}

class TollFinder {
public:
  explicit TollFinder(const Problem &problem);
  void find(const Time &most);
  /// The slowest that was found.
  Cut take() const;
  const Time &time() const { return best; }

private:
  Set nicOf(Set devices) const;
  void addNics(Set devices, std::vector<int32_t> &list) const;
  void addGroups();
  void addGroup(const Taking &group);
  bool isDone(const Time &most) const {
    return looks > kMostLooks || !isLonger(most, best);
  }
  Time timeOf(const Taking &taking);
  void climb(Taking taking, bool isReverse, const Time &most);

  const Problem &problem;
  const Participants participants;
  std::vector<std::pair<Set, Set>> atoms; ///< [atom] holders, needers
  /// What begins or ceases together, by number: one link or NIC; those of a
  /// node, or of all others; those of the devices that hold or need an atom.
  std::vector<Taking> groups;
  int64_t looks = 0;
  Time best;
  Taking bestTaking = {};
};

TollFinder::TollFinder(const Problem &problem)
    : problem(problem), participants(problem) {
  for (const Atom &atom : problem.atoms)
    atoms.emplace_back(participants.setOf(problem.holdersOf(atom)),
                       participants.setOf(problem.needersOf(atom)));
  addGroups();
}

/// All devices that have a NIC of these.
Set TollFinder::nicOf(Set devices) const {
  Set users = 0;
  for (Set its : participants.nicUsers)
    users |= its & devices ? its : 0;
  return users;
}

void TollFinder::addGroup(const Taking &group) {
  if (std::find(groups.begin(), groups.end(), group) == groups.end() &&
      group != Taking{})
    groups.push_back(group);
}

void TollFinder::addGroups() {
  Set all = 0;
  std::set<Set> sets;
  for (Set node : participants.mates) {
    all |= node;
    sets.insert(node);
  }
  for (const auto &[holders, needers] : atoms) {
    sets.insert(holders);
    sets.insert(needers);
  }
  for (size_t i = 0; i < participants.devices.size(); ++i)
    sets.insert(Set{1} << i);
  for (Set set : sets)
    for (bool isIn : {false, true}) {
      Taking links = {}, nics = {}, others = {}, both;
      links[isIn] = set;
      nics[2 + isIn] = nicOf(set);
      others[2 + isIn] = nicOf(all & ~set);
      both = links;
      both[2 + isIn] = nics[2 + isIn];
      for (const Taking &group : {links, nics, both})
        addGroup(group);
      if (std::find(participants.mates.begin(), participants.mates.end(),
                    set) != participants.mates.end())
        addGroup(others);
    }
}

Time TollFinder::timeOf(const Taking &taking) {
  looks += int64_t(atoms.size() * participants.devices.size());
  Time time = {0, 0};
  for (size_t i = 0; i < participants.devices.size(); ++i)
    time.rate += problem.devices[participants.devices[i]].linkRate *
                 ((taking[0] >> i & 1) + (taking[1] >> i & 1));
  for (size_t nic = 0; nic < problem.nics.size(); ++nic)
    for (Set users : {taking[2], taking[3]})
      time.rate +=
          users & participants.nicUsers[nic] ? problem.nics[nic].rate : 0;
  if (time.rate == 0)
    return {};
  const TollCount tolls(participants.mates,
                        {taking[0], taking[1], taking[2], taking[3]});
  for (size_t i = 0; i < atoms.size(); ++i)
    time.bytes +=
        problem.atoms[i].bytes * tolls.count(atoms[i].first, atoms[i].second);
  return time;
}

/// Goes through the groups until none of them makes it slower.
void TollFinder::climb(Taking taking, bool isReverse, const Time &most) {
  Time time = timeOf(taking);
  size_t next = 0;
  for (size_t tried = 0; tried < groups.size() && !isDone(most); ++tried) {
    const Taking &group = groups[isReverse ? groups.size() - 1 - next : next];
    next = (next + 1) % groups.size();
    for (bool takes : {true, false}) {
      Taking other;
      for (size_t i = 0; i < other.size(); ++i)
        other[i] = takes ? taking[i] | group[i] : taking[i] & ~group[i];
      if (other == taking)
        continue;
      if (const Time its = timeOf(other); its > time) {
        taking = other;
        time = its;
        tried = 0;
      }
    }
  }
  if (time > best) {
    best = time;
    bestTaking = taking;
  }
}

/// First from all links and NICs of some kinds, then from each group.
void TollFinder::find(const Time &most) {
  const Set all = participants.devices.size() < TollCount::kMostDevices
                      ? (Set{1} << participants.devices.size()) - 1
                      : ~Set{0};
  for (unsigned kinds = 1; kinds < 16; ++kinds) {
    Taking taking = {};
    for (size_t i = 0; i < taking.size(); ++i)
      taking[i] = kinds >> i & 1 ? all : 0;
    for (bool isReverse : {false, true})
      climb(taking, isReverse, most);
  }
  for (const Taking &group : groups)
    if (looks <= kMostBegun && isLonger(most, best))
      climb(group, false, most);
}

void TollFinder::addNics(Set devices, std::vector<int32_t> &list) const {
  std::set<int32_t> seen;
  for (int32_t device = 0; device < int32_t(problem.devices.size()); ++device) {
    const int32_t nic = problem.devices[device].nic;
    if (devices & participants.nicUsers[nic] && seen.insert(nic).second)
      list.push_back(device);
  }
}

Cut TollFinder::take() const {
  Cut cut;
  cut.time = best;
  for (auto [taking, list] : {std::pair(bestTaking[0], &cut.tolls.linksOut),
                              {bestTaking[1], &cut.tolls.linksIn}})
    for (size_t i = 0; i < participants.devices.size(); ++i)
      if (taking >> i & 1)
        list->push_back(participants.devices[i]);
  for (auto [taking, list] : {std::pair(bestTaking[2], &cut.tolls.nicsOut),
                              {bestTaking[3], &cut.tolls.nicsIn}})
    addNics(taking, *list);
  return cut;
}

} // namespace

Cut findTolls(const Problem &problem, const Cut &slowest, const Time &most) {
  if (slowest.empty() || !isLonger(most, slowest.time) ||
      countParticipants(problem) > TollCount::kMostDevices)
    return {};
  TollFinder finder(problem);
  finder.find(most);
  return isLonger(finder.time(), slowest.time) ? finder.take() : Cut{};
}

} // namespace etc::routing
