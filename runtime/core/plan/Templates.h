// Tensors by template: names that differ in numbers alone, those of layers and
// experts, are one text in a condensed file, and have their tensors stated
// once. docs/plan-format.md explains the tables.

#ifndef ETC_PLAN_TEMPLATES_H
#define ETC_PLAN_TEMPLATES_H

#include "core/plan/CondensedLists.h"
#include "core/plan/TableBudget.h"

#include <vector>

namespace etc::plan {

/// Stands for a number in the name of a template.
constexpr char kNumber = '\n';

/// Moves the tensors of a plan that is being condensed into templates.
void stateTemplates(fb::PlanT &plan, CondensedLists &out);

/// That templates, names and numbers fit each other. The tensors that they
/// state, in order, but for their names and links; charges what they take.
Result<std::vector<const fb::Tensor *>>
checkTemplates(const fb::Plan &plan, const CondensedLists &lists,
               TableBudget &budget);

/// The tensors of a plan that passed checkTemplates, without templates.
void fillTemplates(fb::PlanT &plan, const CondensedLists &lists);

} // namespace etc::plan

#endif // ETC_PLAN_TEMPLATES_H
