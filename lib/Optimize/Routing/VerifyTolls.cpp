#include "VerifyTolls.h"

#include "../Message.h"
#include "BoundWords.h"

#include <algorithm>

namespace etc::routing {

using optimize::at;
using optimize::Message;
using optimize::text;

size_t countParticipants(const Problem &problem) {
  size_t count = 0;
  for (size_t device = 0; device < problem.devices.size(); ++device)
    count += problem.takesPart(int32_t(device));
  return count;
}

Participants::Participants(const Problem &problem)
    : numbers(problem.devices.size(), -1), nicUsers(problem.nics.size()) {
  std::vector<TollCount::Set> nodes(problem.nodes());
  for (int32_t device = 0; device < int32_t(numbers.size()); ++device)
    if (problem.takesPart(device)) {
      const TollCount::Set self = TollCount::Set{1} << devices.size();
      numbers[device] = int32_t(devices.size());
      devices.push_back(device);
      nodes[problem.nodeOf(device)] |= self;
      nicUsers[problem.devices[device].nic] |= self;
    }
  for (int32_t device : devices)
    mates.push_back(nodes[problem.nodeOf(device)]);
}

TollCount::Set Participants::setOf(const std::vector<int32_t> &list) const {
  TollCount::Set set = 0;
  for (int32_t device : list)
    set |= TollCount::Set{1} << numbers[device];
  return set;
}

int64_t Participants::count(const Problem &problem,
                            const TollCount::Takers &takers) const {
  const TollCount tolls(mates, takers);
  int64_t bytes = 0;
  for (const Atom &atom : problem.atoms)
    bytes += atom.bytes * tolls.count(setOf(problem.holdersOf(atom)),
                                      setOf(problem.needersOf(atom)));
  return bytes;
}

namespace {

Message checkList(const char *name, const std::vector<int32_t> &list,
                  size_t limit) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i] < 0 || size_t(list[i]) >= limit)
      return text(at(name, i), ": ", list[i], " is not in [0, ", limit, ")");
    if (i > 0 && list[i - 1] >= list[i])
      return text(at(name, i), ": must be strictly ascending, got ", list[i],
                  " after ", list[i - 1]);
  }
  return std::nullopt;
}

Message checkNics(const Problem &problem, const char *name,
                  const std::vector<int32_t> &list) {
  if (Message error = checkList(name, list, problem.devices.size()))
    return error;
  for (size_t i = 0; i < list.size(); ++i)
    for (int32_t device = 0; device < list[i]; ++device)
      if (problem.devices[device].nic == problem.devices[list[i]].nic)
        return text(at(name, i), ": device ", list[i],
                    " has the NIC of device ", device);
  return std::nullopt;
}

Message checkTolls(const Problem &problem, const Tolls &tolls) {
  for (auto [name, list] : {std::pair("tolls.linksOut", &tolls.linksOut),
                            {"tolls.linksIn", &tolls.linksIn}})
    if (Message error = checkDeviceList(problem, name, *list))
      return error;
  for (auto [name, list] : {std::pair("tolls.nicsOut", &tolls.nicsOut),
                            {"tolls.nicsIn", &tolls.nicsIn}})
    if (Message error = checkNics(problem, name, *list))
      return error;
  return std::nullopt;
}

RateCounts countLinks(const Problem &problem, const Tolls &tolls) {
  RateCounts counts;
  for (const auto *list : {&tolls.linksOut, &tolls.linksIn})
    for (int32_t device : *list)
      ++counts[problem.devices[device].linkRate];
  return counts;
}

RateCounts countNics(const Problem &problem, const Tolls &tolls) {
  RateCounts counts;
  for (const auto *list : {&tolls.nicsOut, &tolls.nicsIn})
    for (int32_t device : *list)
      ++counts[problem.nics[problem.devices[device].nic].rate];
  return counts;
}

TollCount::Takers takersOf(const Problem &problem,
                           const Participants &participants,
                           const Tolls &tolls) {
  const auto users = [&](const std::vector<int32_t> &list) {
    TollCount::Set set = 0;
    for (int32_t device : list)
      set |= participants.nicUsers[problem.devices[device].nic];
    return set;
  };
  return {participants.setOf(tolls.linksOut), participants.setOf(tolls.linksIn),
          users(tolls.nicsOut), users(tolls.nicsIn)};
}

} // namespace

std::optional<std::string> checkDeviceList(const Problem &problem,
                                           const char *name,
                                           const std::vector<int32_t> &list) {
  if (Message error = checkList(name, list, problem.devices.size()))
    return error;
  for (size_t i = 0; i < list.size(); ++i)
    if (!problem.takesPart(list[i]))
      return text(at(name, i), ": device ", list[i], " takes no part");
  return std::nullopt;
}

Time timeOf(const Problem &problem, const Tolls &tolls) {
  const Participants participants(problem);
  Time time{participants.count(problem, takersOf(problem, participants, tolls)),
            0};
  for (const RateCounts &counts :
       {countLinks(problem, tolls), countNics(problem, tolls)})
    for (auto [each, count] : counts)
      time.rate += each * count;
  return time;
}

std::optional<std::string> verifyTolls(const Problem &problem, const Cut &cut) {
  if (!cut.devices.empty() || !cut.inner.empty())
    return text("devices: must be empty, since links and NICs take tolls");
  if (Message error = checkTolls(problem, cut.tolls))
    return error;
  if (countParticipants(problem) > TollCount::kMostDevices)
    return text("tolls: more than ", TollCount::kMostDevices,
                " devices take part");
  const auto [bytes, rate] = timeOf(problem, cut.tolls);
  if (bytes != cut.time.bytes)
    return text("time.bytes: ", bytes, " tolls are paid, got ", cut.time.bytes);
  if (rate != cut.time.rate)
    return text("time.rate: ", rate, " bytes a second take tolls, got ",
                cut.time.rate);
  return std::nullopt;
}

std::string describeTolls(const Problem &problem, const Cut &cut) {
  std::string out;
  const auto add = [&](const char *what, const std::vector<int32_t> &list) {
    if (!list.empty())
      out += (out.empty() ? "" : ", ") + listed(what, list);
  };
  add("links out of device", cut.tolls.linksOut);
  add("NICs out of device", cut.tolls.nicsOut);
  add("links into device", cut.tolls.linksIn);
  add("NICs into device", cut.tolls.nicsIn);
  return out + " have to carry " +
         scaled(double(cut.time.bytes), {"B", "kB", "MB", "GB", "TB"}) +
         " at " +
         listRates(countNics(problem, cut.tolls),
                   listRates(countLinks(problem, cut.tolls), "", false),
                   false) +
         describeTime(cut.time);
}

} // namespace etc::routing
