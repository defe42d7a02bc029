// The problem of rounds: what moves when, where memory is bounded. Units take
// and give memory on classes of devices, and occupy ports; nothing here knows
// IR or tensors.

#ifndef ETC_OPTIMIZE_ROUNDS_PROBLEM_H
#define ETC_OPTIMIZE_ROUNDS_PROBLEM_H

#include "etc/Optimize/Rounds/SharedList.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etc::rounds {

/// The memory of every device of a class, in bytes.
struct ClassMemory {
  int64_t prev, curr; ///< live before the first round, and after the last
  /// Live bytes and both slabs should stay at or below.
  int64_t limit;
  /// The most that a round should send, and receive.
  int64_t sendSlab, recvSlab;
  /// What else is live in deferred rounds: counts against the limit.
  int64_t beside = 0;

  bool operator==(const ClassMemory &) const = default;
};

/// What a unit does to the memory of every device of one class, in bytes.
struct Touch {
  int32_t deviceClass;
  int64_t allocated; ///< taken before the round's transfers
  int64_t released;  ///< given back after them
  int64_t sent, received;

  bool operator==(const Touch &) const = default;
};

/// How long a unit occupies one port: one direction of a link or a NIC.
struct Load {
  int32_t port;
  int64_t time; ///< nanoseconds

  bool operator==(const Load &) const = default;
};

/// What moves in one round. A tensor that is cut is a chain of units. Many do
/// the same.
struct Unit {
  SharedList<Touch> touches;
  /// The unit that must not be in a later round, or -1: the chunk of the same
  /// tensor before this one.
  int32_t before = -1;
  /// The unit that must be in an earlier round, or -1: this one reads what it
  /// leaves.
  int32_t after = -1;
  /// Comes in a later round than all that are not deferred.
  bool isDeferred = false;
  /// Of ports that rounds should be level on.
  SharedList<Load> loads = {};

  bool operator==(const Unit &) const = default;
};

/// Every unit goes into one round. A round takes what its units allocate, moves
/// what they send and receive through the slabs of the class, and gives back
/// what they release.
///
/// A well-formed problem obeys
///
/// (P1) every number of bytes is >= 0;
///
/// (P2) the touches of a unit name existing classes, strictly ascending;
///
/// (P3) `before` and `after` name units before this one: there is no circle;
/// and none that is deferred, where this one is not;
///
/// (P4) a class ends with what it should have: prev, with all that is
/// allocated, without all that is released, is curr;
///
/// (P5) int64 arithmetic is exact: of each class, each of the sums of prev and
/// what is allocated, of what is sent, and of what is received is at most 2^60,
/// and so are its limit, its slabs and what is beside it;
///
/// (P6) the loads of a unit name ports in [0, ports), strictly ascending, for
/// times >= 0, and all of a port are at most 2^60 together.
struct Problem {
  std::vector<ClassMemory> classes;
  std::vector<Unit> units;
  int32_t ports = 0;
  /// How long a round may occupy a port with more than one unit, in
  /// nanoseconds.
  int64_t roundTime = 0;

  bool operator==(const Problem &) const = default;
};

/// Says which of (P1) to (P6) the problem breaks first, and where; nothing if
/// it is well formed.
std::optional<std::string> check(const Problem &problem);

} // namespace etc::rounds

#endif // ETC_OPTIMIZE_ROUNDS_PROBLEM_H
