//===- Ranks.h - Which rank every device takes ----------------------------===//
//
// For launchers, and for frameworks that bring their own mover: with the ranks
// where a plan puts them, they move as few bytes as the plan. docs/ranks.md has
// the formats.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_EXPORT_RANKS_H
#define ETC_EXPORT_RANKS_H

#include "core/plan/plan_generated.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etc {

/// Where a current rank runs.
struct RankSeat {
  uint32_t rank, device, node;
  uint32_t slot;      ///< the device's number on its node
  uint32_t nodeRank;  ///< the node's number among those in use
  uint32_t localRank; ///< the device's number among those in use on its node
  uint32_t localSize; ///< how many those are
  std::optional<uint32_t> prevRank; ///< the rank that the device had
};

/// The seats of all current ranks, ascending by rank.
std::vector<RankSeat> rankSeats(const plan::fb::Plan &plan);

/// node0, node1 and so on: what nodes without names are called.
std::vector<std::string> defaultHosts(size_t nodes);

/// Seats and launcher files in one document. `hosts` are the nodes' names.
void writeRanksJson(const plan::fb::Plan &plan,
                    llvm::ArrayRef<std::string> hosts, llvm::raw_ostream &os);

/// A line a rank: rank, node rank, local rank, local size, slot, host.
void writeRankTable(llvm::ArrayRef<RankSeat> seats,
                    llvm::ArrayRef<std::string> hosts, llvm::raw_ostream &os);

/// The host of every rank, a line each: Slurm's SLURM_HOSTFILE under
/// `--distribution=arbitrary`, and Open MPI's hostfile under `--map-by seq`.
void writeHostList(llvm::ArrayRef<RankSeat> seats,
                   llvm::ArrayRef<std::string> hosts, llvm::raw_ostream &os);

/// Open MPI's rankfile.
void writeRankfile(llvm::ArrayRef<RankSeat> seats,
                   llvm::ArrayRef<std::string> hosts, llvm::raw_ostream &os);

/// The torchrun command of every node in use, a line each.
void writeTorchrun(llvm::ArrayRef<RankSeat> seats,
                   llvm::ArrayRef<std::string> hosts, llvm::raw_ostream &os);

/// A shell script that sets the variables of a process and runs its command. It
/// reads the rank table beside it.
void writeRankScript(llvm::raw_ostream &os);

} // namespace etc

#endif // ETC_EXPORT_RANKS_H
