#include "job/Membership.h"

#include <algorithm>
#include <random>

using namespace etc::runtime;

uint64_t etc::runtime::newProcessNumber() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

Membership::Membership(uint64_t hub, std::vector<JobProcess> processes)
    : hub(hub), processes_(std::move(processes)),
      lastNumber(processes_.empty() ? 0 : processes_.back().number) {}

std::vector<uint32_t> Membership::devices() const {
  std::vector<uint32_t> devices;
  for (const JobProcess &each : processes_)
    devices.push_back(each.device);
  return devices;
}

const JobProcess *Membership::find(uint64_t number) const {
  const auto it = std::ranges::find(processes_, number, &JobProcess::number);
  return it == processes_.end() ? nullptr : &*it;
}

bool Membership::knows(const JobProcess &who) const {
  return std::ranges::find(processes_, who.process, &JobProcess::process) !=
         processes_.end();
}

const JobProcess &Membership::admit(const JobProcess &who) {
  const auto known =
      std::ranges::find(processes_, who.process, &JobProcess::process);
  if (known != processes_.end())
    return *known;
  processes_.push_back(who);
  processes_.back().number = ++lastNumber;
  return processes_.back();
}

void Membership::remove(uint64_t number) {
  std::erase_if(processes_,
                [&](const JobProcess &each) { return each.number == number; });
}

void Membership::adopt(const Membership &told) {
  const uint64_t last = lastNumber;
  *this = told;
  lastNumber = std::max(lastNumber, last);
}

bool Membership::areMost(
    const std::function<bool(const JobProcess &)> &isConnected) const {
  const auto connected = std::ranges::count_if(processes_, isConnected);
  const auto half = 2 * connected - static_cast<int64_t>(processes_.size());
  return half > 0 ||
         (half == 0 && !processes_.empty() && isConnected(processes_.front()));
}

std::deque<JobProcess> Membership::before(uint64_t number,
                                          bool isHubSilent) const {
  std::deque<JobProcess> who;
  for (const JobProcess &each : processes_)
    if (each.number == hub && !isHubSilent)
      who.push_front(each);
    else if (each.number < number && each.number != hub)
      who.push_back(each);
  return who;
}

void etc::runtime::putMembership(std::string &out,
                                 const Membership &membership) {
  putBytes(out, membership.hub);
  putBytes(out, static_cast<uint32_t>(membership.processes().size()));
  for (const JobProcess &each : membership.processes()) {
    putBytes(out, each.number);
    putBytes(out, each.process);
    putBytes(out, each.device);
    putText(out, each.address);
  }
}

Membership etc::runtime::takeMembership(ByteReader &in) {
  uint64_t hub = 0;
  uint32_t count = 0;
  std::vector<JobProcess> processes;
  in.take(hub);
  in.take(count);
  in.isGood = in.isGood && count <= kMostJobProcesses;
  for (uint32_t i = 0; in.isGood && i != count; ++i) {
    JobProcess &each = processes.emplace_back();
    in.take(each.number);
    in.take(each.process);
    in.take(each.device);
    in.take(each.address, kMostAddressBytes);
  }
  return {hub, std::move(processes)};
}
