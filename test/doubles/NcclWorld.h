// Communicators of the NCCL double: what ranks have asked for, and what of it
// can be done.

#ifndef ETC_TEST_NCCLWORLD_H
#define ETC_TEST_NCCLWORLD_H

#include "GpuDouble.h"
#include "NcclHandshake.h"

#include "transport/NcclLibrary.h"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace etc::test {

using runtime::nccl::Code;

constexpr Code kUnhandledCudaError = 1, kInternalError = 3,
               kInvalidArgument = 4, kInvalidUsage = 5;

struct Transfer {
  bool isSend;
  int peer;
  std::byte *data;
  size_t bytes;
  bool isDone = false;
};

struct Group {
  std::vector<Transfer> transfers;
  DoubleStream *stream = nullptr;
};

struct World;

/// A range of memory.
struct Range {
  const std::byte *data;
  size_t bytes;

  bool holds(const Range &other) const {
    return other.data >= data && other.data + other.bytes <= data + bytes;
  }
  bool meets(const Range &other) const {
    return other.data < data + bytes && data < other.data + other.bytes;
  }
};

/// One rank's communicator. Groups are done one after the other.
struct Rank {
  World *world;
  int number;
  std::deque<Group> groups;
  std::set<std::pair<bool, int>> connected; // whether to send, and to whom
  std::optional<Handshake> handshake;       // before `launching` starts
  Group launching;
  std::vector<Range> registered;
  Code state = runtime::nccl::kInProgress;
  bool isWaiting = false; // it has looked at its stream since the last change
  bool isGone = false;
};

struct World {
  int size = 0;
  std::vector<std::unique_ptr<Rank>> ranks;
  int joined = 0;
  Bootstrap bootstrap;
};

/// By their ids. All of this is used with the double's lock held.
std::map<std::string, std::unique_ptr<World>> &worlds();

/// Groups that had to connect first.
unsigned &handshakes();

/// Closes a rank's group, and does all that can be done now.
void submit(Rank &rank, Group group);

/// Nobody can go on: all wait for transfers, or have left.
void findDeadlock(World &world);

} // namespace etc::test

#endif // ETC_TEST_NCCLWORLD_H
