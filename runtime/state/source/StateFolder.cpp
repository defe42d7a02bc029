#include "state/source/StateFolder.h"

#include "state/checkpoint/StateIndex.h"
#include "state/checkpoint/WriteState.h"
#include "state/inventory/Inventory.h"

#include <filesystem>

using namespace etc::runtime;

Result<StateFolder> StateFolder::make(const std::string &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  const bool isEmpty = !error && std::filesystem::is_empty(path, error);
  if (error)
    return Status(ErrorKind::Usage,
                  text(path, ": cannot make it: ", error.message()));
  if (!isEmpty)
    return Status(ErrorKind::Usage,
                  text(path, ": is not empty; remove what is there, or name "
                             "another directory"));
  return StateFolder(path);
}

Status StateFolder::write(const PlanIndex &index, uint32_t rank,
                          const Read &read) const {
  return writeStateFile(index, rank, path_, read).status();
}

Status StateFolder::finish(const PlanIndex &index) const {
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
  return writeInventory(index, inventory, text(path_, "/", kStateIndexName),
                        Shapes::Curr);
}
