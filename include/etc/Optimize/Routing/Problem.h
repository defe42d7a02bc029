// The routing problem: which device sends which bytes to whom, where the roles
// are fixed and links and NICs have rates. docs/routing.md gives the model.

#ifndef ETC_OPTIMIZE_ROUTING_PROBLEM_H
#define ETC_OPTIMIZE_ROUTING_PROBLEM_H

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etc::routing {

/// Exact seconds: bytes over bytes a second.
struct Time {
  int64_t bytes = 0;
  int64_t rate = 1; ///< > 0

  double seconds() const { return double(bytes) / double(rate); }
  std::strong_ordering operator<=>(const Time &other) const;
  bool operator==(const Time &other) const { return (*this <=> other) == 0; }
};

enum class Status : uint8_t {
  Usable,   ///< may hold, need and pass on
  Draining, ///< may hold and pass on
  Failed,   ///< takes no part
  Spare,    ///< neither holds nor needs an atom; takes no part
};

/// A port to other nodes. Devices that name the same NIC share it.
struct Nic {
  int32_t node;
  int64_t rate; ///< bytes a second, of each direction
};

struct Device {
  int32_t nic;
  int64_t linkRate; ///< to devices of its node, bytes a second, each direction
  Status status = Status::Usable;
};

/// Bytes that the same devices hold and the same devices need. They are cut at
/// multiples of `grain` only.
struct Atom {
  int32_t holders; ///< a set
  int32_t needers; ///< a set
  int64_t bytes;
  int64_t grain = 1;
  /// Whether devices that neither hold nor need it may pass it on, in a problem
  /// with transit.
  bool mayTransit = true;
};

/// Every needer of an atom has to receive each of its bytes once. A device
/// sends what it holds or has received. Bytes between devices of one node take
/// the sender's link out and the receiver's link in; between nodes, the
/// sender's NIC out and the receiver's NIC in.
///
/// A well-formed problem obeys
///
/// (P1) NICs are ascending by node, and nodes are numbered from 0 without gaps;
/// each device names a NIC; every rate is in [1, 2^50];
///
/// (P2) a set lists existing devices, strictly ascending, at least one;
///
/// (P3) every atom names two sets, has bytes and a grain of at least 1, and is
/// strictly after the atom before it by (holders, needers, mayTransit):
/// replicas, layers and tensors that share both sets are one atom;
///
/// (P4) holders are usable or draining, needers are usable, and no needer is a
/// holder;
///
/// (P5) int64 arithmetic is exact: the sum over atoms of bytes * (needers + 1)
/// is at most 2^60, and so is the sum of all rates.
struct Problem {
  std::vector<Nic> nics;
  std::vector<Device> devices;
  /// Sets of devices. Each is stated once, however many atoms name it.
  std::vector<std::vector<int32_t>> sets;
  std::vector<Atom> atoms;
  /// Whether devices that neither hold nor need an atom may pass it on, if the
  /// atom may be.
  bool transit = false;

  int32_t nodeOf(int32_t device) const {
    return nics[devices[device].nic].node;
  }
  int32_t nodes() const { return nics.empty() ? 0 : nics.back().node + 1; }
  /// Whether the device may send, and receive what it passes on.
  bool takesPart(int32_t device) const {
    return devices[device].status == Status::Usable ||
           devices[device].status == Status::Draining;
  }
  bool mayTransit(const Atom &atom) const { return transit && atom.mayTransit; }
  const std::vector<int32_t> &holdersOf(const Atom &atom) const {
    return sets[atom.holders];
  }
  const std::vector<int32_t> &needersOf(const Atom &atom) const {
    return sets[atom.needers];
  }
};

/// Says which of (P1) to (P5) the problem breaks first, and where; nothing if
/// it is well formed.
std::optional<std::string> check(const Problem &problem);

/// Adds a node of `devices` devices that share `nics` NICs evenly, neighbours
/// the same one, as the simulator has it: device i has NIC i * nics / devices.
void addNode(Problem &problem, int32_t devices, int32_t nics, int64_t linkRate,
             int64_t nicRate);

} // namespace etc::routing

#endif // ETC_OPTIMIZE_ROUTING_PROBLEM_H
