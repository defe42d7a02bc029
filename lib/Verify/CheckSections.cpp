//===- CheckSections.cpp - V19: what is right for a section of a kind -----===//
//
// The other rules prove the plan of one section of each kind, as that of a
// request with fewer stages. This compares that request with the one of all
// sections, by what lib/Layout says of both: nothing here knows how it was
// made.
//
//===----------------------------------------------------------------------===//

#include "PartRequest.h"
#include "core/plan/SectionMap.h"
#include "core/proof/PlanCertificates.h"
#include "etc/Layout/PoolHoldings.h"
#include "etc/Verify/Boundaries.h"

#include "llvm/ADT/StringMap.h"

#include <set>

using namespace etc;
using namespace mlir;
using layout::HeldBox;
using model::TensorTemplate;
using request::Parallelism;
using request::Request;
namespace fb = etc::plan::fb;

namespace {
class SectionChecker {
public:
  SectionChecker(MigrationOp migration, const fb::Plan &plan,
                 const Request &kinds, const Request &all)
      : comparison(migration, Rule::Sections, "the plan of a section",
                   "the request"),
        plan(plan), map(plan), kinds(kinds), all(all),
        lanes(plan.lanes() ? plan.lanes()->count() : 1),
        ofKinds(modelOf(kinds)), ofAll(modelOf(all)) {}

  LogicalResult run();

private:
  LogicalResult checkWords();
  LogicalResult checkTemplates();
  LogicalResult checkNames();
  LogicalResult checkSide(plan::Side side);
  LogicalResult checkHoldings(plan::Side side);
  bool isShifted(ArrayRef<HeldBox> first, ArrayRef<HeldBox> other,
                 int64_t layers) const;
  LogicalResult checkPlacement();
  LogicalResult checkNodes();
  LogicalResult checkBound();

  const request::SideSpec &sideOf(const Request &request,
                                  plan::Side side) const {
    return side == plan::Side::Prev ? request.prev : request.curr;
  }
  /// How much higher the numbers of a section's layers are.
  int64_t shiftOf(uint32_t section) const;

  const Comparison comparison;
  const fb::Plan &plan;
  const plan::SectionMap map;
  const Request &kinds, &all;
  const int64_t lanes;
  const model::Model ofKinds, ofAll;
};
} // namespace

int64_t SectionChecker::shiftOf(uint32_t section) const {
  const fb::Sections &sections = *plan.sections();
  int64_t here = 0, there = 0;
  for (uint32_t kind = 0; kind != map.kindOf(section); ++kind)
    here += sections.kinds()->Get(kind)->layers();
  for (uint32_t before = 0; before != section; ++before)
    there += sections.kinds()->Get(map.kindOf(before))->layers();
  return there - here;
}

//===----------------------------------------------------------------------===//
// The request
//===----------------------------------------------------------------------===//

/// Nobody fixes or bars devices, which sections would not have alike.
LogicalResult SectionChecker::checkWords() {
  if (failed(compareWords(comparison, kinds, all)))
    return failure();
  return comparison.numbers(
      "", {{"NICs", kinds.rates.nics, all.rates.nics},
           {"failed devices", static_cast<int64_t>(all.failed.size()), 0},
           {"draining devices", static_cast<int64_t>(all.draining.size()), 0},
           {"devices of curr given", all.curr.devices.has_value(), false}});
}

LogicalResult SectionChecker::checkTemplates() {
  if (failed(comparison.numbers(
          "tensors", {{".size", static_cast<int64_t>(ofKinds.tensors.size()),
                       static_cast<int64_t>(ofAll.tensors.size())}})))
    return failure();
  for (auto [part, whole] : llvm::zip_equal(ofKinds.tensors, ofAll.tensors)) {
    const std::string name = part.name;
    if (failed(comparison.words("a tensor", name, whole.name)) ||
        failed(
            comparison.words(name + ".tied_to", part.tiedTo, whole.tiedTo)) ||
        failed(comparison.lists(name + ".shape", part.shape, whole.shape)) ||
        failed(comparison.lists(name + ".view", part.view, whole.view)) ||
        failed(comparison.numbers(
            name, {{".block", static_cast<int64_t>(part.block),
                    static_cast<int64_t>(whole.block)},
                   {".split", part.splitAxis, whole.splitAxis},
                   {".flat", part.flat, whole.flat},
                   {".types", part.types == whole.types, true},
                   {".vocab_rows", part.vocabRows, whole.vocabRows},
                   {".of_expert", part.ofExpert, whole.ofExpert}})))
      return failure();
  }
  return success();
}

/// Another number where the file says so is the name of another layer.
LogicalResult SectionChecker::checkNames() {
  struct Named {
    const TensorTemplate *entry;
    int64_t layer, expert;
  };
  llvm::StringMap<Named> names;
  for (const TensorTemplate &entry : ofKinds.tensors)
    model::forInstances(entry, ofKinds, [&](int64_t layer, int64_t expert) {
      names[model::tensorName(entry, layer, expert)] = {&entry, layer, expert};
    });
  for (uint32_t t = 0; t != plan.tensors()->size(); ++t) {
    const std::string name = plan.tensors()->Get(t)->name()->str();
    const auto it = names.find(name);
    if (it == names.end())
      return comparison.words(name, "present", "absent");
    const auto [entry, layer, expert] = it->second;
    if (failed(comparison.numbers(
            name,
            {{".is_of_layer", map.kindOfTensor(t) >= 0, entry->isOfLayer()}})))
      return failure();
    for (uint32_t section = 0;
         section != map.sectionCount() && entry->isOfLayer(); ++section)
      if (map.kindOf(section) == static_cast<uint32_t>(map.kindOfTensor(t)) &&
          failed(comparison.words(
              "a tensor of section " + Twine(section), map.nameIn(section, t),
              model::tensorName(*entry, layer + shiftOf(section), expert))))
        return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Holdings
//===----------------------------------------------------------------------===//

/// Whether a stage holds what the one of the plan does, some layers further on.
bool SectionChecker::isShifted(ArrayRef<HeldBox> first, ArrayRef<HeldBox> other,
                               int64_t layers) const {
  if (first.size() != other.size())
    return false;
  for (auto [held, found] : llvm::zip_equal(first, other)) {
    const int64_t shift = ofAll.tensors[found.tensor].isOfLayer() ? layers : 0;
    if (held.tensor != found.tensor || held.expert != found.expert ||
        held.layer + shift != found.layer || !(held.box == found.box))
      return false;
  }
  return true;
}

LogicalResult SectionChecker::checkHoldings(plan::Side side) {
  const Parallelism &part = sideOf(kinds, side).parallel,
                    &whole = sideOf(all, side).parallel;
  const int64_t slots = whole.slots(),
                replicas = whole.hasRanges() ? whole.replicas() : 1;
  for (int64_t stage = 0; stage != whole.pp; ++stage) {
    const auto [section, here] = map.placeOf(side, stage);
    const int64_t shift = shiftOf(section);
    for (int64_t slot = 0; slot != slots; ++slot) {
      const layout::PoolHoldings first(ofKinds, part, here, slot),
          other(ofAll, whole, stage, slot);
      bool isSame = isShifted(first.getShared(), other.getShared(), shift);
      for (int64_t d = 0; d != replicas && isSame; ++d)
        isSame = isShifted(first.getOwn(d), other.getOwn(d), shift);
      if (!isSame)
        return comparison.words(Twine(plan::sideName(side)) + ": what stage " +
                                    Twine(stage) + " slot " + Twine(slot) +
                                    " holds",
                                "other layers", "its own");
    }
  }
  return success();
}

LogicalResult SectionChecker::checkSide(plan::Side side) {
  const Parallelism &part = sideOf(kinds, side).parallel,
                    &whole = sideOf(all, side).parallel;
  Parallelism expected = part;
  expected.pp = whole.pp;
  expected.stages = whole.stages;
  expected.mtpStage = whole.mtpStage;
  int64_t stages = 0;
  for (const fb::Section *section : *plan.sections()->list()) {
    const fb::SectionKind &kind =
        *plan.sections()->kinds()->Get(section->kind());
    stages +=
        side == plan::Side::Prev ? kind.prev_stages() : kind.curr_stages();
  }
  if (failed(comparison.numbers(
          plan::sideName(side),
          {{": the configuration apart from stages", expected == whole, true},
           {".pp", stages, whole.pp}})))
    return failure();
  return checkHoldings(side);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// Previous ranks are where the request has them.
LogicalResult SectionChecker::checkPlacement() {
  const Parallelism &whole = all.prev.parallel;
  const int64_t groups = whole.stageSize() / lanes,
                size = all.nodes.front() / lanes;
  for (int64_t stage = 0; stage != whole.pp; ++stage) {
    const auto [section, here] = map.placeOf(plan::Side::Prev, stage);
    for (int64_t i = 0; i != groups; ++i) {
      const int64_t rank = stage * whole.stageSize() + i * lanes,
                    asked = all.prev.devices ? (*all.prev.devices)[rank] : rank,
                    group = plan.prev_placement()->Get(here * groups + i),
                    node = map.nodeIn(section, group / size);
      if (failed(comparison.numbers(
              ("the device of rank " + Twine(rank)).str(),
              {{"", (node * size + group % size) * lanes, asked}})))
        return failure();
    }
  }
  return success();
}

/// All nodes are of one size, and as few as can be take roles where that is
/// asked for: sections fill theirs.
LogicalResult SectionChecker::checkNodes() {
  SmallVector<int64_t> nodes(plan.sections()->nodes()->begin(),
                             plan.sections()->nodes()->end());
  if (failed(comparison.lists("nodes", nodes, all.nodes)))
    return failure();
  if (all.place != "pack")
    return success();
  const int64_t size = all.nodes.front(), ranks = all.curr.parallel.world();
  std::set<int64_t> used;
  for (uint32_t group : *plan.curr_placement())
    used.insert(group / (size / lanes));
  int64_t count = 0;
  for (int64_t node : used)
    count += map.copies(map.kindOfNode(node));
  return comparison.numbers(
      "", {{"nodes with roles", count, (ranks + size - 1) / size}});
}

LogicalResult SectionChecker::checkBound() {
  const plan::Status status = verifyBoundOfSections(plan::PlanIndex(plan));
  return comparison.words("the bound",
                          status.ok() ? "proved" : status.message(), "proved");
}

LogicalResult SectionChecker::run() {
  if (failed(checkWords()) || failed(checkTemplates()) ||
      failed(checkNames()) || failed(checkSide(plan::Side::Prev)) ||
      failed(checkSide(plan::Side::Curr)) || failed(checkPlacement()) ||
      failed(checkNodes()))
    return failure();
  return checkBound();
}

LogicalResult etc::verifySections(MigrationOp migration, const fb::Plan &plan,
                                  const Request &kinds, const Request &all) {
  return SectionChecker(migration, plan, kinds, all).run();
}
