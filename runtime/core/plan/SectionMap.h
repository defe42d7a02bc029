// Which section of a plan of sections has what.

#ifndef ETC_PLAN_SECTIONMAP_H
#define ETC_PLAN_SECTIONMAP_H

#include "core/plan/PlanIndex.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etc::plan {

/// Where the tables of a plan of sections are in the plan of all of them. The
/// plan passed checkSections, and is of all lanes.
class SectionMap {
public:
  explicit SectionMap(const fb::Plan &plan);

  static constexpr int32_t kNoKind = -1;

  uint32_t sectionCount() const { return kinds.size(); }
  uint32_t kindCount() const { return copies_.size(); }
  uint32_t kindOf(uint32_t section) const { return kinds[section]; }
  /// How many sections are of a kind.
  uint32_t copies(uint32_t kind) const { return copies_[kind]; }
  /// By rank of an index of the plan, or of one lane of it.
  std::vector<uint64_t> copiesOfRanks(const PlanIndex &index) const;
  /// The first section of a kind.
  uint32_t firstOf(uint32_t kind) const { return first[kind]; }

  /// The kind of a device; kNoKind where the device takes no part.
  int32_t kindOfDevice(uint32_t device) const {
    return kindOfNode_[nodeOf[device]];
  }
  int32_t kindOfNode(uint32_t node) const { return kindOfNode_[node]; }
  /// The kind of a tensor; kNoKind where it is of no layer.
  int32_t kindOfTensor(uint32_t tensor) const { return kindOfTensor_[tensor]; }
  uint32_t kindOfStage(Side side, uint32_t stage) const;

  /// The device that does in a section what `device` does here. A device of
  /// another kind is that of the kind's only section.
  uint32_t deviceIn(uint32_t section, uint32_t device) const;
  /// The node of all sections.
  uint32_t nodeIn(uint32_t section, uint32_t node) const;
  /// The same of a stage of the section's kind.
  uint32_t stageIn(uint32_t section, Side side, uint32_t stage) const;
  /// The stage here that a stage of all sections is like, and its section.
  struct Place {
    uint32_t section, stage;
  };
  Place placeOf(Side side, uint32_t stage) const;
  /// The name of a tensor in a section of its kind.
  std::string nameIn(uint32_t section, uint32_t tensor) const;
  /// The section that has the part of a kind in `section`: this one, or the
  /// only one of the kind.
  uint32_t sectionOf(uint32_t kind, uint32_t section) const {
    return kinds[section] == kind ? section : first[kind];
  }

private:
  const fb::Plan &plan;
  std::vector<uint32_t> kinds;        ///< [section]
  std::vector<uint32_t> copies_;      ///< [kind]
  std::vector<uint32_t> first;        ///< [kind] its first section
  std::vector<int32_t> kindOfNode_;   ///< [node]
  std::vector<uint32_t> nodeOf;       ///< [device]
  std::vector<uint32_t> placeOfNode;  ///< [node] among those of its kind
  std::vector<uint32_t> begins;       ///< [node] its first device
  std::vector<uint32_t> beginsOfAll;  ///< [node] of all sections
  std::vector<int32_t> kindOfTensor_; ///< [tensor]
  std::vector<uint32_t> layersBefore; ///< [section] kinds' layers in all
  std::vector<uint32_t> firstLayer;   ///< [kind] here
  /// [side][kind] its first stage here, [side][section] in all.
  std::vector<uint32_t> stages[2], stagesOfAll[2];
};

/// The number of a tensor's layer, or nothing where its name has no number at
/// the place that is stated, or one above a million.
std::optional<uint32_t> layerOf(const fb::Plan &plan, uint32_t tensor);

} // namespace etc::plan

#endif // ETC_PLAN_SECTIONMAP_H
