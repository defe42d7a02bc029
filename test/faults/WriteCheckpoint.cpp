// Writes a checkpoint of the previous state of a plan:
//   etc-write-checkpoint PLAN DIR

#include "../unit/Runtime/CheckpointFixture.h"

#include "core/plan/PlanFile.h"
#include "core/plan/PlanIndex.h"

#include <filesystem>
#include <iostream>

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  auto file = etc::plan::PlanFile::open(argv[1]);
  if (!file) {
    std::cerr << file.status().message() << "\n";
    return 2;
  }
  std::filesystem::create_directories(argv[2]);
  etc::runtime::test::writeCheckpoint(etc::plan::PlanIndex(file->plan()),
                                      argv[2]);
  return 0;
}
