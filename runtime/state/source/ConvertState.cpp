#include "state/source/ConvertState.h"

#include "state/checkpoint/WriteState.h"
#include "state/inventory/Inventory.h"

#include <chrono>

using namespace etc::runtime;
using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Status etc::runtime::writeStateIndex(const PlanIndex &index,
                                     const std::string &directory) {
  Inventory inventory(index.rankCount());
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    for (const auto &[tensor, shard] :
         index.holdings(index.participant(rank).program, Side::Curr)) {
      if (!inventory[rank])
        inventory[rank].emplace();
      auto &boxes = (*inventory[rank])[tensor];
      for (uint32_t b = 0; b != index.boxCount(shard); ++b)
        boxes.emplace_back(index.shardBox(shard, b));
    }
  return writeInventory(index, inventory, text(directory, "/", kStateIndexName),
                        Shapes::Curr);
}

Result<Conversion> etc::runtime::convertState(const PlanIndex &index,
                                              const StoredState &from,
                                              const std::string &directory,
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
        writeStateFile(index, rank, directory, produce(rank));
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
    if (Status s = checkStateFile(index, rank, directory, produce(rank));
        !s.ok())
      return s;
  done.verifySeconds = secondsSince(start);
  done.readBytes = readBytes;
  if (Status s = writeStateIndex(index, directory); !s.ok())
    return s;
  return done;
}
