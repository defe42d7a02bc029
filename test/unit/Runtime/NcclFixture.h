// What tests of NCCL's transport have in common: ranks that are threads, with a
// GPU of the double's each.

#ifndef ETC_TEST_NCCLFIXTURE_H
#define ETC_TEST_NCCLFIXTURE_H

#include "GpuFixture.h"

#include "core/transport/LocalTransport.h"
#include "core/transport/NcclTransport.h"

#include <thread>

namespace etc::test {

using namespace etc::runtime;

class NcclTest : public GpuTest {};

/// Runs body(transport, rank, control) on `count` ranks, whose GPUs begin with
/// `firstGpu`, over and over where there are fewer; returns their statuses.
/// Devices of a job have other numbers.
template <typename Body>
std::vector<Status> onRanks(uint32_t count, Milliseconds timeout, Body body,
                            unsigned firstGpu = 0, unsigned gpus = 8) {
  NcclOptions options;
  for (uint32_t rank = 0; rank != count; ++rank)
    options.devices.push_back(3 * rank + 2);
  options.deadline = options.timeout = timeout;
  options.lastWait = Milliseconds(1000);
  LocalCluster cluster(options.devices);
  std::vector<Status> statuses(count, Status::success());
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank != count; ++rank)
    threads.emplace_back([&, rank] {
      NcclOptions mine = options;
      mine.rank = rank;
      mine.ordinal = firstGpu + rank % gpus;
      mine.control = &cluster.control(rank);
      auto transport = connectNccl(mine);
      statuses[rank] = transport ? body(**transport, rank, *mine.control)
                                 : transport.status();
    });
  threads.clear();
  return statuses;
}

/// Two ranks that send to each other.
inline Status connectBoth(Transport &transport, uint32_t rank) {
  const uint32_t other = 1 - rank;
  return transport.prepare({{&other, 1}, {&other, 1}}, Milliseconds(20'000));
}

} // namespace etc::test

#endif // ETC_TEST_NCCLFIXTURE_H
