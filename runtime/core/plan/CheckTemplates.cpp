#include "core/plan/Templates.h"

#include <algorithm>

using namespace etc::plan;

static Status checkTemplate(const fb::TensorTemplate &entry) {
  if (entry.tensors()->size() == 0)
    return malformed(".tensors: none");
  for (uint32_t i = 0; i != entry.tensors()->size(); ++i) {
    const fb::Tensor &tensor = *entry.tensors()->Get(i);
    if (tensor.name()->size())
      return malformed(item(".tensors", i),
                       ".name: a tensor of a template has none of its own");
    if (Status s = checkShapes(tensor); !s.ok())
      return under(item(".tensors", i), s);
  }
  return Status::success();
}

static uint64_t numbersOf(const fb::TensorTemplate &entry) {
  const std::string_view name = entry.name()->string_view();
  return std::count(name.begin(), name.end(), kNumber);
}

/// What a reader makes of one name.
static uint64_t bytesOf(const fb::TensorTemplate &entry) {
  constexpr uint64_t kMostDigits = 10;
  const uint64_t name = entry.name()->size() + kMostDigits * numbersOf(entry);
  uint64_t sum = sizeof(fb::TensorTemplateT);
  for (const fb::Tensor *tensor : *entry.tensors()) {
    const uint64_t numbers = sizeOf(tensor->shape()) + sizeOf(tensor->view()) +
                             sizeOf(tensor->prev_shape());
    sum = addBytes(sum, sizeof(fb::TensorT) + name + tensor->type()->size() +
                            numbers * sizeof(int64_t));
  }
  return sum;
}

/// What the links are to is looked at once the tensors are there.
static Status checkRelativeLinks(const fb::Tensor &tensor, uint64_t self,
                                 uint64_t count) {
  for (auto [name, link] : {std::pair(".tied_to", tensor.tied_to()),
                            std::pair(".derived_from", tensor.derived_from())})
    if (const int64_t other = static_cast<int64_t>(self) + link;
        other < 0 || other >= static_cast<int64_t>(count))
      return malformed(item("tensors", self), name, ": ", other,
                       " is not in [0, ", count, ")");
  return Status::success();
}

static Status checkRun(const fb::Condensed &condensed, const fb::NameRun &run) {
  if (run.index() >= condensed.templates()->size())
    return outOfRange(".index", run.index(), condensed.templates()->size());
  const fb::TensorTemplate &entry = *condensed.templates()->Get(run.index());
  const uint64_t numbers = numbersOf(entry);
  if (run.count() == 0 || (run.count() > 1 && numbers == 0))
    return malformed(".count: ", run.count(), " names of a template with ",
                     numbers, " numbers");
  return Status::success();
}

Result<std::vector<const fb::Tensor *>>
etc::plan::checkTemplates(const fb::Plan &plan, const CondensedLists &lists,
                          TableBudget &budget) {
  const fb::Condensed &condensed = *plan.condensed();
  const auto &templates = *condensed.templates();
  if (plan.tensors()->size())
    return malformed("tensors: a condensed plan has none");
  std::vector<uint64_t> bytes;
  for (uint32_t i = 0; i != templates.size(); ++i) {
    if (Status s = checkTemplate(*templates.Get(i)); !s.ok())
      return under(item("condensed.templates", i), s);
    bytes.push_back(bytesOf(*templates.Get(i)));
    // It is copied, whether or not a name is of it.
    if (Status s = budget.charge(1, bytes.back()); !s.ok())
      return s;
  }
  std::vector<const fb::Tensor *> tensors;
  uint64_t numbers = 0;
  for (size_t i = 0; i != lists.names.size(); ++i) {
    const fb::NameRun &run = lists.names[i];
    if (Status s = checkRun(condensed, run); !s.ok())
      return under(item("condensed.names", i), s);
    if (Status s = budget.charge(run.count(), bytes[run.index()]); !s.ok())
      return s;
    const fb::TensorTemplate &entry = *templates.Get(run.index());
    for (uint32_t name = 0; name != run.count(); ++name)
      tensors.insert(tensors.end(), entry.tensors()->begin(),
                     entry.tensors()->end());
    numbers += numbersOf(entry);
  }
  if (numbers != lists.numbers.size())
    return malformed("condensed.numbers: ", lists.numbers.size(),
                     ", the names have ", numbers);
  for (uint64_t i = 0; i != tensors.size(); ++i)
    if (Status s = checkRelativeLinks(*tensors[i], i, tensors.size()); !s.ok())
      return s;
  return tensors;
}
