// Writes the plans that faults are tried on into a directory.

#include "RingPlan.h"

#include <fstream>
#include <iostream>

using namespace etc::plan;
using namespace etc::plan::test;

static int write(const std::string &path, fb::PlanT plan) {
  if (std::string verdict = judge(plan); !verdict.empty()) {
    std::cerr << path << ": " << verdict << "\n";
    return 1;
  }
  std::vector<uint8_t> bytes = packPlan(std::move(plan));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  const std::string directory = argv[1];
  return write(directory + "/ring.etcplan", ringPlan(4, 8, 1 << 16)) |
         write(directory + "/small.etcplan", ringPlan(3, 5, 64)) |
         write(directory + "/stages.etcplan", twoStagePlan()) |
         write(directory + "/relay.etcplan", relayPlan());
}
