#include "Memory.h"

#include "Units.h"

#include <fstream>
#include <limits>
#include <string_view>

using namespace etc::run;
using etc::plan::ErrorKind;
using etc::plan::PlanIndex;
using etc::plan::Status;

namespace {

/// The planner's models and their parameters.
struct Preset {
  const char *name;
  double parameters;
};

/// Descending, so that the first that fits is the largest.
constexpr Preset kPresets[] = {
    {"gpt3-175b", 175e9},  {"gpt3-13b", 13e9},     {"gpt3-6.7b", 6.7e9},
    {"gpt3-2.7b", 2.7e9},  {"gpt2-xl", 1.5e9},     {"gpt3-1.3b", 1.3e9},
    {"gpt2-large", 774e6}, {"gpt2-medium", 355e6}, {"gpt2", 124e6},
};

/// Elements of the plan's parameters, tied copies left out.
double countParameters(const PlanIndex &index) {
  double count = 0;
  for (uint32_t t = 0; t != index.plan().tensors()->size(); ++t) {
    const auto &tensor = index.tensor(t);
    if (tensor.type()->string_view() != "param" || tensor.tied_to() >= 0)
      continue;
    double elements = 1;
    for (int64_t extent : *tensor.shape())
      elements *= static_cast<double>(extent);
    count += elements;
  }
  return count;
}

/// Memory grows with the parameters, as long as the configurations stay what
/// they are.
std::string suggestModel(const PlanIndex &index, uint64_t needed,
                         uint64_t available) {
  double perParameter = static_cast<double>(needed) / countParameters(index);
  for (const Preset &preset : kPresets) {
    double estimate = preset.parameters * perParameter;
    if (estimate < static_cast<double>(available) * 0.9)
      return std::string("plan a smaller model, for example --model=") +
             preset.name + " (needs about " +
             formatBytes(static_cast<uint64_t>(estimate)) + ")";
  }
  return "plan a smaller model, or fewer data-parallel replicas";
}

/// MemAvailable of /proc/meminfo; no limit where there is no such file.
uint64_t availableBytes() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  uint64_t kibibytes = 0;
  while (file >> name >> kibibytes) {
    if (name == "MemAvailable:")
      return kibibytes * 1024;
    std::getline(file, unit);
  }
  return std::numeric_limits<uint64_t>::max();
}

} // namespace

Status etc::run::checkMemory(const PlanIndex &index,
                             const std::vector<uint32_t> &ranks,
                             runtime::Mode mode, bool isResumed,
                             uint64_t available) {
  uint64_t eager = 0, safe = 0;
  for (uint32_t rank : ranks) {
    const plan::fb::Program &program =
        index.program(index.participant(rank).program);
    eager = plan::addBytes(eager, program.peak());
    safe = plan::addBytes(safe, program.peak_safe());
  }
  const uint64_t needed = mode == runtime::Mode::Safe ? safe : eager;
  if (needed <= available)
    return Status::success();
  if (mode == runtime::Mode::Safe && (isResumed || eager <= available))
    return Status(
        ErrorKind::Usage,
        plan::text("--mode=safe keeps both states until the commit and needs ",
                   formatBytes(safe), " of host memory, ",
                   formatBytes(available), " are available; ",
                   isResumed ? "free some, or go back with etc-run rollback"
                             : "--mode=eager needs " + formatBytes(eager)));
  return Status(ErrorKind::Usage,
                plan::text("needs ", formatBytes(needed),
                           " of host memory for ", ranks.size(),
                           ranks.size() == 1 ? " device, " : " devices, ",
                           formatBytes(available), " are available; ",
                           suggestModel(index, needed, available)));
}

Status etc::run::checkMemory(const PlanIndex &index,
                             const std::vector<uint32_t> &ranks,
                             runtime::Mode mode, bool isResumed) {
  return checkMemory(index, ranks, mode, isResumed, availableBytes());
}
