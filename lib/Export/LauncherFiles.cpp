//===- LauncherFiles.cpp - Ranks as launchers take them -------------------===//

#include "etc/Export/Ranks.h"

using namespace etc;
using llvm::ArrayRef;
using llvm::raw_ostream;

void etc::writeRankTable(ArrayRef<RankSeat> seats, ArrayRef<std::string> hosts,
                         raw_ostream &os) {
  os << "# rank node_rank local_rank local_world_size slot host\n";
  for (const RankSeat &seat : seats)
    os << seat.rank << " " << seat.nodeRank << " " << seat.localRank << " "
       << seat.localSize << " " << seat.slot << " " << hosts[seat.node] << "\n";
}

void etc::writeHostList(ArrayRef<RankSeat> seats, ArrayRef<std::string> hosts,
                        raw_ostream &os) {
  for (const RankSeat &seat : seats)
    os << hosts[seat.node] << "\n";
}

void etc::writeRankfile(ArrayRef<RankSeat> seats, ArrayRef<std::string> hosts,
                        raw_ostream &os) {
  // A rankfile must name the processor: the slot keeps them apart.
  for (const RankSeat &seat : seats)
    os << "rank " << seat.rank << "=" << hosts[seat.node]
       << " slot=" << seat.slot << "\n";
}

void etc::writeTorchrun(ArrayRef<RankSeat> seats, ArrayRef<std::string> hosts,
                        raw_ostream &os) {
  std::vector<RankSeat> first; // of each node in use
  for (const RankSeat &seat : seats)
    if (seat.localRank == 0)
      first.push_back(seat);
  std::sort(first.begin(), first.end(), [](const auto &a, const auto &b) {
    return a.nodeRank < b.nodeRank;
  });
  for (const RankSeat &seat : first)
    os << hosts[seat.node] << ": torchrun --nnodes=" << first.size()
       << " --node-rank=" << seat.nodeRank
       << " --nproc-per-node=" << seat.localSize
       << " --master-addr=" << hosts[first.front().node]
       << " --no-python ./with-rank COMMAND\n";
}

void etc::writeRankScript(raw_ostream &os) {
  os << R"sh(#!/bin/sh
# usage: with-rank COMMAND [ARGUMENT...]
#
# Runs the command with the rank that the plan gives to this device: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
# and CUDA_VISIBLE_DEVICES where the node has devices that take no rank. Under Slurm and Open MPI the process has its
# rank already; torchrun counts ranks node by node, so there it is looked up by node rank and local rank.
table=$(dirname "$0")/ranks.txt
if [ -n "${GROUP_RANK-}" ] && [ -n "${LOCAL_RANK-}" ]; then
  row=$(awk -v n="$GROUP_RANK" -v l="$LOCAL_RANK" '$1 != "#" && $2 == n && $3 == l' "$table")
else
  # What mpirun starts in a Slurm job sees Slurm's variables too.
  rank=${OMPI_COMM_WORLD_RANK-${SLURM_PROCID-}}
  if [ -z "$rank" ]; then
    echo "with-rank: neither torchrun, Slurm nor Open MPI started this process" >&2
    exit 2
  fi
  row=$(awk -v r="$rank" '$1 == r' "$table")
fi
if [ -z "$row" ]; then
  echo "with-rank: $table has no rank for this process; start as many processes as it has lines" >&2
  exit 2
fi
: "${1:?with-rank: name a command}"
export WORLD_SIZE=$(awk '$1 != "#"' "$table" | wc -l | tr -d ' ')
export MASTER_ADDR=${MASTER_ADDR-$(awk '$1 == 0 { print $6 }' "$table")} MASTER_PORT=${MASTER_PORT-29500}
node=$(echo "$row" | cut -d' ' -f2)
export RANK=$(echo "$row" | cut -d' ' -f1)
export LOCAL_RANK=$(echo "$row" | cut -d' ' -f3) LOCAL_WORLD_SIZE=$(echo "$row" | cut -d' ' -f4)
# The slots in use, ascending, as the devices of this node. A list that is set already is what slots count in.
slots=$(awk -v n="$node" '$1 != "#" && $2 == n { print $5 }' "$table" | sort -n)
if [ "$(echo "$slots" | tail -n 1)" -ge "$LOCAL_WORLD_SIZE" ]; then
  export CUDA_VISIBLE_DEVICES=$(echo "$slots" | awk -v all="${CUDA_VISIBLE_DEVICES-}" '
    BEGIN { split(all, id, ",") } { printf("%s%s", (NR > 1 ? "," : ""), (all == "" ? $1 : id[$1 + 1])) }')
fi
exec "$@"
)sh";
}
