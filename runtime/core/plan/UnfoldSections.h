// Plans of sections: where stages in a row do the same as others, one section
// of each kind is stated for all. docs/plan-format.md explains the tables.

#ifndef ETC_PLAN_UNFOLDSECTIONS_H
#define ETC_PLAN_UNFOLDSECTIONS_H

#include "core/plan/Status.h"
#include "core/plan/plan_generated.h"

#include <cstdint>

namespace etc::plan {

/// That the plan of sections can be unfolded, and that the plan of all needs no
/// more memory than a file of `fileBytes` may ask for. `planBytes` are those of
/// the plan, which is of all lanes and passed checkFormat.
Status checkSections(const fb::Plan &plan, uint64_t planBytes,
                     uint64_t fileBytes);

/// The plan of all sections, of one that passed checkSections. The result is to
/// pass checkFormat.
fb::PlanT unfoldSections(const fb::Plan &plan);
/// The same without what programs hold and do, as unfoldOutline.
fb::PlanT outlineOfSections(const fb::Plan &plan);

} // namespace etc::plan

#endif // ETC_PLAN_UNFOLDSECTIONS_H
