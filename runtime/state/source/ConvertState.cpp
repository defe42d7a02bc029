#include "state/source/ConvertState.h"

#include "state/checkpoint/WriteState.h"

#include <chrono>

using namespace etc::runtime;
using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<Conversion> etc::runtime::convertState(const PlanIndex &index,
                                              const StoredState &from,
                                              const StateFolder &to,
                                              Verify verify) {
  Conversion done;
  auto produce = [&](uint32_t rank) {
    return [&, device = index.device(rank)](uint32_t tensor, Region to) {
      Result<uint64_t> bytes = from.read(index, device, tensor, to);
      done.readBytes += bytes ? *bytes : 0;
      return bytes.status();
    };
  };
  auto start = Clock::now();
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    Result<uint64_t> bytes =
        writeStateFile(index, rank, to.path(), produce(rank));
    if (!bytes)
      return bytes.status();
    done.writtenBytes += *bytes;
    done.files += *bytes > 0;
  }
  done.seconds = secondsSince(start);
  const uint64_t readBytes = done.readBytes;
  start = Clock::now();
  for (uint32_t rank = 0; verify == Verify::Full && rank != index.rankCount();
       ++rank)
    if (Status s = checkStateFile(index, rank, to.path(), produce(rank));
        !s.ok())
      return s;
  done.verifySeconds = secondsSince(start);
  done.readBytes = readBytes;
  if (Status s = to.finish(index); !s.ok())
    return s;
  return done;
}
