//===- Sections.h - One plan for stages that are alike ----------*- C++ -*-===//
//
// A section is a run of pipeline stages of both configurations that have the
// same layers: no state leaves it. Sections whose stages have as many layers,
// of the same kinds, do the same with other layers on other nodes. A plan is
// then made for one section of each kind, as if the others were no part of the
// model, and is right for all (docs/decisions).
//
//===----------------------------------------------------------------------===//

#ifndef ETC_PLANNER_SECTIONS_H
#define ETC_PLANNER_SECTIONS_H

#include "etc/Planner/PlanRequest.h"

namespace etc {

/// The attribute of a migration of sections: how many there are.
inline constexpr llvm::StringLiteral sectionsMark = "etc.sections";

/// How a request divides into sections.
struct Sections {
  struct Kind {
    int64_t prevStages = 0, currStages = 0, layers = 0;
    /// Of the request of all kinds: nodes of its previous ranks.
    std::vector<int64_t> nodes;
  };
  struct Section {
    size_t kind = 0;
    std::vector<int64_t> nodes; ///< parallel to the kind's
  };
  std::vector<Kind> kinds;
  std::vector<Section> list; ///< in the order of stages
  std::vector<int64_t> free; ///< nodes without previous ranks
  request::Request request;  ///< of one section of each kind
};

/// Nothing where no two sections are alike, where replicas hold nothing of
/// their own, or where there are fewer devices than `sectionsFrom`.
std::optional<Sections> sectionsOf(const request::Request &request,
                                   int64_t sectionsFrom);

/// Makes the plan of `sections.request` that of the request of all. False where
/// it is none: a node has roles of two sections.
mlir::FailureOr<bool> stateSections(PlannedRequest &planned,
                                    const Sections &sections,
                                    const request::Request &all);

} // namespace etc

#endif // ETC_PLANNER_SECTIONS_H
