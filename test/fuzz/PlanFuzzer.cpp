// Plan files: the loader and the referee. A damaged hash would end most runs
// early, so bytes are tried as they are and with the right hash.

#include "core/plan/Condense.h"
#include "core/plan/PlanFile.h"
#include "core/plan/Referee.h"

#include <cstdlib>
#include <cstring>
#include <vector>

using namespace etc::plan;

static void judge(const std::vector<uint64_t> &aligned, size_t size) {
  std::span<const uint8_t> bytes(
      reinterpret_cast<const uint8_t *>(aligned.data()), size);
  const Result<PlanFile> file = PlanFile::read(bytes);
  if (!file)
    return;
  const PlanIndex index(file->plan());
  const bool obeys = checkPlan(index).ok();
  if (file->lane() && checkPlan(index, file->lane()).ok() != obeys)
    std::abort(); // what holds in one lane holds in all
  if (!fb::GetPlan(bytes.data())->condensed() &&
      !PlanFile::read(condensePlan(bytes)))
    std::abort(); // what is written can be read
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint64_t> aligned(size / 8 + 1);
  if (size > 0)
    std::memcpy(aligned.data(), data, size);
  judge(aligned, size);
  std::span<uint8_t> bytes(reinterpret_cast<uint8_t *>(aligned.data()), size);
  flatbuffers::Verifier verifier(bytes.data(), size);
  if (size >= 8 && fb::PlanBufferHasIdentifier(bytes.data()) &&
      fb::VerifyPlanBuffer(verifier) && sealPlan(bytes).ok())
    judge(aligned, size);
  return 0;
}
