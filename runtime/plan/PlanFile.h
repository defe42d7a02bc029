// Plan files: opening one with all checks of its format, and writing one.

#ifndef ETC_PLAN_PLANFILE_H
#define ETC_PLAN_PLANFILE_H

#include "plan/Status.h"
#include "plan/plan_generated.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace etc::plan {

/// The format version that this build reads and writes.
constexpr uint32_t kPlanVersion = 2;
/// The file is the slice of one rank, and of no use to whoever needs all.
constexpr uint64_t kSliceFeature = 1;
/// Devices pass on what they do not keep.
constexpr uint64_t kTransitFeature = 2;
/// The feature bits that this build knows.
constexpr uint64_t kPlanFeatures = kSliceFeature | kTransitFeature;

/// An open plan, mapped from a file. The mapping lives as long as the object;
/// moving it keeps pointers valid.
class PlanFile {
public:
  /// Maps a file and checks identifier, FlatBuffers structure, version,
  /// features, hash and tables (checkFormat). The message of an error begins
  /// with the path. Ask checkPlan next whether the plan obeys the rules.
  static Result<PlanFile> open(const std::string &path);

  const fb::Plan &plan() const { return *fb::GetPlan(bytes_.data()); }
  std::span<const uint8_t> bytes() const { return bytes_; }

private:
  PlanFile(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}

  std::span<const uint8_t> bytes_;
  std::shared_ptr<const void> owner_;
};

/// The checks of PlanFile::open on bytes in memory, aligned to 8.
Status checkPlanBytes(std::span<const uint8_t> bytes);

/// Writes version-independent bookkeeping into a finished buffer: its hash. The
/// buffer must have been built with a hash other than 0, since FlatBuffers
/// leaves default values out; an error says so.
Status sealPlan(std::span<uint8_t> buffer);

/// Serializes and seals. The result is what a plan file holds; equal plans give
/// equal bytes.
std::vector<uint8_t> packPlan(fb::PlanT plan);

} // namespace etc::plan

#endif // ETC_PLAN_PLANFILE_H
