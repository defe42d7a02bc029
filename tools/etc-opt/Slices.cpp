//===- Slices.cpp - --slice -----------------------------------------------===//

#include "Slices.h"

#include "Outputs.h"
#include "core/plan/Slice.h"

using namespace etc;

int etc::writeSlices(const PlannerOptions &options,
                     const plan::fb::Plan &plan) {
  const plan::PlanIndex index(plan);
  const uint32_t count = index.rankCount();
  uint32_t begin = 0, end = count;
  if (*options.slice != "all") {
    if (llvm::StringRef(*options.slice).getAsInteger(10, begin) ||
        begin >= count)
      return fail("--slice: expected a rank from 0 to " +
                      llvm::Twine(count - 1) + " or all, got " + *options.slice,
                  request::ExitCode::Malformed);
    end = begin + 1;
  }
  const plan::FingerprintTree tree(index);
  std::vector<Output> outputs;
  for (uint32_t rank = begin; rank != end; ++rank)
    outputs.push_back(
        {*options.slice == "all" ? numberedOutput(options.output, rank)
                                 : options.output,
         [&, rank](llvm::raw_ostream &os) {
           const std::vector<uint8_t> bytes = slicePlan(index, tree, rank);
           os << llvm::StringRef(reinterpret_cast<const char *>(bytes.data()),
                                 bytes.size());
         }});
  return writeOutputs(outputs);
}
