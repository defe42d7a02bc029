// Plan files: opening one with all checks of its format, and writing one.

#ifndef ETC_PLAN_PLANFILE_H
#define ETC_PLAN_PLANFILE_H

#include "core/plan/Status.h"
#include "core/plan/plan_generated.h"

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
/// Programs state steps of flows in place of rounds, tensors are stated by
/// template, and lists are packed (plan/Condense.h). Flags 4 and 16 were
/// earlier forms.
constexpr uint64_t kCondensedFeature = 128;
/// The tables are those of one lane (plan/Unfold.h).
constexpr uint64_t kLanesFeature = 8;
/// A bound of time has inner devices.
constexpr uint64_t kInnerFeature = 32;
/// The tables are those of one section of each kind (plan/UnfoldSections.h).
constexpr uint64_t kSectionsFeature = 64;
/// A bound of time has tolls.
constexpr uint64_t kTollsFeature = 256;
/// The flags of features that this build knows.
constexpr uint64_t kPlanFeatures =
    kSliceFeature | kTransitFeature | kCondensedFeature | kLanesFeature |
    kInnerFeature | kSectionsFeature | kTollsFeature;

/// An open plan, mapped from a file. The mapping lives as long as the object;
/// moving it keeps pointers valid.
class PlanFile {
public:
  /// Maps a file and checks, in this order, its identifier, its version and
  /// features, its FlatBuffers structure and alignment, that it has the tables
  /// that the features say, its hash, and its tables (checkFormat). The message
  /// of an error begins with the path. Ask checkPlan next whether the plan
  /// obeys the rules.
  static Result<PlanFile> open(const std::string &path);
  /// The same of bytes in memory, aligned to 8, which `owner` keeps.
  static Result<PlanFile> read(std::span<const uint8_t> bytes,
                               std::shared_ptr<const void> owner = nullptr);

  /// Expanded where the file is condensed, and of all lanes and sections where
  /// it is of one of each.
  const fb::Plan &plan() const { return *fb::GetPlan(bytes_.data()); }
  /// The plan of one lane, or of one section of each kind, that plan() was
  /// unfolded from; null where the file is of none.
  const fb::Plan *lane() const {
    return lane_.empty() ? nullptr : fb::GetPlan(lane_.data());
  }
  /// What the file contains.
  std::span<const uint8_t> fileBytes() const { return fileBytes_; }

private:
  explicit PlanFile(std::span<const uint8_t> bytes)
      : fileBytes_(bytes), bytes_(bytes) {}
  /// Of the plan that the file states in short: its tables.
  Status take(fb::PlanT plan);
  /// Of a condensed plan: what it states.
  Status expand();
  /// Of a plan of lanes or sections: that of all.
  Status unfold(uint64_t fileBytes);

  std::span<const uint8_t> fileBytes_;
  std::span<const uint8_t> bytes_; ///< of the plan that plan() is
  std::span<const uint8_t> lane_;  ///< of the plan that lane() is, or empty
  std::vector<std::shared_ptr<const void>> owners_;
};

/// The checks of PlanFile::open on a packed plan, aligned to 8. A condensed one
/// is refused, since it is to be read with PlanFile::read; of a plan of lanes,
/// those of one lane.
Status checkPlanBytes(std::span<const uint8_t> bytes);

/// Writes version-independent bookkeeping into a finished buffer: its hash. The
/// buffer must have been built with a hash other than 0, since FlatBuffers
/// leaves default values out; an error says so.
Status sealPlan(std::span<uint8_t> buffer);

/// Serializes and seals, as it is: for a file, condensePlan takes less room.
/// Equal plans give equal bytes.
std::vector<uint8_t> packPlan(fb::PlanT plan);

} // namespace etc::plan

#endif // ETC_PLAN_PLANFILE_H
