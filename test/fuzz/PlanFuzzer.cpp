// Plan files: the loader and the referee. A damaged hash would end most runs
// early, so bytes are tried as they are and with the right hash.

#include "plan/PlanFile.h"
#include "plan/Referee.h"

#include <cstring>
#include <vector>

using namespace etc::plan;

static void judge(const std::vector<uint64_t> &aligned, size_t size) {
  std::span<const uint8_t> bytes(
      reinterpret_cast<const uint8_t *>(aligned.data()), size);
  if (checkPlanBytes(bytes).ok())
    (void)checkPlan(*fb::GetPlan(bytes.data()));
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
