#include "Convert.h"

#include "StateEnds.h"
#include "Units.h"

#include "state/source/ConvertState.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>
#include <numeric>

using namespace etc::run;
using namespace etc::runtime;
using Json = nlohmann::ordered_json;

/// The most that this process had in memory, its code included; 0 where it is
/// not known. (getrusage also counts what the process was forked from.)
static uint64_t peakBytes() {
  std::ifstream file("/proc/self/status");
  std::string name;
  uint64_t kibibytes = 0;
  while (file >> name) {
    if (name == "VmHWM:" && file >> kibibytes)
      return kibibytes * 1024;
    std::getline(file, name);
  }
  return 0;
}

static double rateOf(const Conversion &done) {
  return done.seconds > 0
             ? static_cast<double>(done.writtenBytes) / done.seconds / 1e9
             : 0;
}

static std::string formatJson(const Conversion &done, bool isChecked) {
  Json out = {{"format", "etc-run"},
              {"version", 1},
              {"transport", "files"},
              {"read_bytes", done.readBytes},
              {"written_bytes", done.writtenBytes},
              {"files", done.files},
              {"seconds", done.seconds},
              {"gb_per_second", rateOf(done)},
              {"verify_seconds", done.verifySeconds},
              {"peak_process_bytes", peakBytes()},
              {"verified", isChecked ? Json(true) : Json()}};
  return out.dump(2) + "\n";
}

Status etc::run::convert(const PlanIndex &index, const Options &options) {
  std::vector<uint32_t> ranks(index.rankCount());
  std::iota(ranks.begin(), ranks.end(), 0);
  auto from = openStoredState(index, options, ranks);
  if (!from)
    return from.status();
  Result<StateFolder> to = StateFolder::make(options.out);
  if (!to)
    return to.status();
  Result<Conversion> done = convertState(index, **from, *to, options.verify);
  if (!done)
    return done.status();
  const bool isChecked = options.verify == Verify::Full;
  if (options.json) {
    std::cout << formatJson(*done, isChecked);
    return Status::success();
  }
  std::cout << "wrote " << done->files << " files, "
            << formatBytes(done->writtenBytes) << ", to " << options.out
            << " in " << formatNumber(done->seconds, 3) << " s, "
            << formatNumber(rateOf(*done), 2) << " GB/s\n"
            << (isChecked ? "verified: every element of every file, bit for bit"
                          : "files not read again")
            << "\n";
  return Status::success();
}
