// Which processes belong to a job, where they come and go: in what order they
// take over, and who speaks for all.
//
// Two other lists are none of this. The participants of one change are the
// ranks of its plan (PeerControl.h, Hub.h): nobody joins them, and a death ends
// the change. The members of a recovery (recovery/RecoveryMember.h) are the
// devices that agreed on it, with what each holds: written once, never changed.

#ifndef ETC_RUNTIME_JOB_MEMBERSHIP_H
#define ETC_RUNTIME_JOB_MEMBERSHIP_H

#include "job/Bytes.h"

#include <deque>
#include <functional>
#include <vector>

namespace etc::runtime {

/// A process of a job.
struct JobProcess {
  uint64_t number = 0;  // in the order in which they joined, from 1; 0: not yet
  uint64_t process = 0; // that no other process has
  uint32_t device = 0;
  std::string address; // at which it listens

  bool operator==(const JobProcess &) const = default;
};

/// At random, so that no other process has it.
uint64_t newProcessNumber();

/// The processes of a job in the order in which they joined, as the hub tells
/// them. It is the one that joined first, of those that are left, so all know
/// who is next.
class Membership {
public:
  Membership() = default;
  Membership(uint64_t hub, std::vector<JobProcess> processes);

  const std::vector<JobProcess> &processes() const { return processes_; }
  std::vector<uint32_t> devices() const;
  /// Null where there is none of that number.
  const JobProcess *find(uint64_t number) const;
  const JobProcess *findHub() const { return find(hub); }

  bool knows(const JobProcess &who) const;
  /// Takes in a process, which gets the next number unless it is known.
  const JobProcess &admit(const JobProcess &who);
  void remove(uint64_t number);
  /// What a hub tells replaces what was known. No number is given twice.
  void adopt(const Membership &told);

  /// Whether those that are connected speak for all: they are more than half,
  /// or half with the one that joined first.
  bool
  areMost(const std::function<bool(const JobProcess &)> &isConnected) const;
  /// Whom a process asks in turn who the hub is now, before it takes over
  /// itself: those that joined before it. The hub that was comes first, since
  /// it may be there and the connection not, or, where it is silent, not at
  /// all.
  std::deque<JobProcess> before(uint64_t number, bool isHubSilent) const;

  uint64_t hub = 0; // its number

  bool operator==(const Membership &) const = default;

private:
  std::vector<JobProcess> processes_;
  uint64_t lastNumber = 0;
};

constexpr uint32_t kMostJobProcesses = 1 << 16;
constexpr uint32_t kMostAddressBytes = 4096;

void putMembership(std::string &out, const Membership &membership);
/// After bytes that are none, the reader is not good any more.
Membership takeMembership(ByteReader &in);

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_MEMBERSHIP_H
