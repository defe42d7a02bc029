//===- RankFiles.cpp - --emit=ranks ---------------------------------------===//

#include "RankFiles.h"

#include "Outputs.h"
#include "etc/Export/Ranks.h"

#include "llvm/Support/FileSystem.h"

using namespace etc;
using llvm::StringRef;

int etc::writeRanks(const PlannerOptions &options,
                    std::vector<std::string> hosts,
                    const plan::fb::Plan &plan) {
  if (hosts.empty())
    hosts = defaultHosts(plan.nodes()->size());
  auto json = [&](llvm::raw_ostream &os) { writeRanksJson(plan, hosts, os); };
  StringRef output = options.output;
  bool isFolder = output.ends_with("/") || llvm::sys::fs::is_directory(output);
  if (!isFolder)
    return writeOutputs(Output{options.output, json});
  if (output.rtrim('/').empty())
    return fail("-o " + output +
                    ": six files do not belong into the root directory; name "
                    "another one",
                request::ExitCode::Malformed);
  if (std::error_code error = llvm::sys::fs::create_directories(output))
    return fail(output + ": " + error.message(), request::ExitCode::Malformed);
  std::vector<RankSeat> seats = rankSeats(plan);
  auto path = [&](StringRef name) {
    return (output.rtrim('/') + "/" + name).str();
  };
  auto lines = [&](auto write) {
    return [&, write](llvm::raw_ostream &os) { write(seats, hosts, os); };
  };
  return writeOutputs({{path("ranks.json"), json},
                       {path("ranks.txt"), lines(writeRankTable)},
                       {path("slurm.hostfile"), lines(writeHostList)},
                       {path("openmpi.rankfile"), lines(writeRankfile)},
                       {path("torchrun.txt"), lines(writeTorchrun)},
                       {path("with-rank"), writeRankScript, true}});
}
