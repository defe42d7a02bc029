//===- Ranks.cpp - Which rank every device takes --------------------------===//

#include "etc/Export/Ranks.h"

#include "core/plan/Configuration.h"
#include "core/plan/PlanIndex.h"

#include "llvm/Support/JSON.h"

#include <map>

using namespace etc;
namespace fb = etc::plan::fb;

static std::vector<std::optional<uint32_t>>
prevRanks(const fb::Plan &plan, const plan::PlanIndex &index) {
  uint32_t devices = 0;
  for (uint32_t count : *plan.nodes())
    devices += count;
  std::vector<std::optional<uint32_t>> ranks(devices);
  // A device that died is no participant; what it was is gone with it.
  for (uint32_t rank = 0; rank < plan.prev_placement()->size(); ++rank)
    if (uint32_t device = plan.prev_placement()->Get(rank);
        index.rankOf(device))
      ranks[device] = rank;
  return ranks;
}

std::vector<RankSeat> etc::rankSeats(const fb::Plan &plan) {
  plan::PlanIndex index(plan);
  std::map<uint32_t, std::vector<uint32_t>> used; // node -> its devices
  for (uint32_t device : *plan.curr_placement())
    used[index.nodeOf(device)].push_back(device);
  std::vector<uint32_t> nodeStart{0};
  for (uint32_t count : *plan.nodes())
    nodeStart.push_back(nodeStart.back() + count);
  std::vector<std::optional<uint32_t>> prev = prevRanks(plan, index);
  std::map<uint32_t, RankSeat> byDevice;
  uint32_t nodeRank = 0;
  for (auto &[node, devices] : used) {
    std::sort(devices.begin(), devices.end());
    uint32_t localSize = devices.size();
    for (uint32_t local = 0; local < localSize; ++local)
      byDevice[devices[local]] = {
          0,        devices[local], node,      devices[local] - nodeStart[node],
          nodeRank, local,          localSize, prev[devices[local]]};
    ++nodeRank;
  }
  std::vector<RankSeat> seats;
  for (uint32_t device : *plan.curr_placement()) {
    seats.push_back(byDevice.at(device));
    seats.back().rank = seats.size() - 1;
  }
  return seats;
}

std::vector<std::string> etc::defaultHosts(size_t nodes) {
  std::vector<std::string> names;
  for (size_t node = 0; node < nodes; ++node)
    names.push_back("node" + std::to_string(node));
  return names;
}

/// The lines of a file as an array of strings.
static void
writeLines(llvm::json::OStream &json, llvm::StringRef key,
           void (*write)(llvm::ArrayRef<RankSeat>, llvm::ArrayRef<std::string>,
                         llvm::raw_ostream &),
           llvm::ArrayRef<RankSeat> seats, llvm::ArrayRef<std::string> hosts) {
  std::string text;
  llvm::raw_string_ostream os(text);
  write(seats, hosts, os);
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  json.attributeArray(key, [&] {
    for (llvm::StringRef line : lines)
      json.value(llvm::json::fixUTF8(line));
  });
}

static void writeSeat(llvm::json::OStream &json, const RankSeat &seat,
                      llvm::ArrayRef<std::string> hosts) {
  json.object([&] {
    json.attribute("rank", seat.rank);
    json.attribute("device", seat.device);
    json.attribute("node", seat.node);
    json.attribute("host", llvm::json::fixUTF8(hosts[seat.node]));
    json.attribute("slot", seat.slot);
    json.attribute("node_rank", seat.nodeRank);
    json.attribute("local_rank", seat.localRank);
    json.attribute("local_world_size", seat.localSize);
    json.attribute("prev_rank", seat.prevRank
                                    ? llvm::json::Value(*seat.prevRank)
                                    : llvm::json::Value(nullptr));
  });
}

void etc::writeRanksJson(const fb::Plan &plan,
                         llvm::ArrayRef<std::string> hosts,
                         llvm::raw_ostream &os) {
  std::vector<RankSeat> seats = rankSeats(plan);
  llvm::json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("format", "etc-ranks");
    json.attribute("version", 1);
    json.attribute("configuration", plan::describe(*plan.curr()));
    json.attribute("world_size", static_cast<int64_t>(seats.size()));
    json.attributeArray("ranks", [&] {
      for (const RankSeat &seat : seats)
        writeSeat(json, seat, hosts);
    });
    json.attributeObject("launchers", [&] {
      writeLines(json, "torchrun", writeTorchrun, seats, hosts);
      writeLines(json, "slurm_hostfile", writeHostList, seats, hosts);
      writeLines(json, "openmpi_rankfile", writeRankfile, seats, hosts);
    });
  });
  os << "\n";
}
