//===- StateSections.cpp - The plan of one section of each kind -----------===//

#include "core/plan/PlanFile.h"
#include "core/plan/TimeBound.h"
#include "core/plan/UnfoldSections.h"
#include "etc/Export/Export.h"
#include "etc/Model/Model.h"
#include "etc/Planner/Sections.h"
#include "etc/Verify/Boundaries.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <set>

using namespace etc;
using namespace mlir;
using request::Parallelism;
using request::Request;
namespace fb = etc::plan::fb;

namespace {

class SectionWriter {
public:
  SectionWriter(ArrayRef<uint8_t> bytes, const Sections &sections,
                const Request &all)
      : packed(*fb::GetPlan(bytes.data())), index(packed), sections(sections),
        all(all), kindOfNode(sections.request.nodes.size(), -1) {
    packed.UnPackTo(&plan);
  }

  /// Nothing where sections do not keep to themselves.
  std::optional<std::vector<uint8_t>> run();

private:
  bool readKinds();
  int64_t kindOfStage(bool isCurr, int64_t stage) const;
  bool staysInKind(const fb::Program &program) const;
  void writeKinds();
  void writeRates();
  bool writeList();
  bool writeNumbers();
  std::unique_ptr<fb::ConfigurationT>
  configurationOf(const fb::ConfigurationT &here,
                  const Parallelism &parallel) const;

  const fb::Plan &packed;
  const plan::PlanIndex index;
  const Sections &sections;
  const Request &all;
  std::vector<int64_t> kindOfNode;
  fb::PlanT plan;
};

} // namespace

int64_t SectionWriter::kindOfStage(bool isCurr, int64_t stage) const {
  for (auto [number, kind] : llvm::enumerate(sections.kinds))
    if ((stage -= isCurr ? kind.currStages : kind.prevStages) < 0)
      return static_cast<int64_t>(number);
  llvm_unreachable("a stage of no kind");
}

/// Which nodes have devices of which kind; none has those of two.
bool SectionWriter::readKinds() {
  for (const fb::Program *program : *packed.programs())
    for (auto [role, isCurr] : {std::pair(program->prev_role(), false),
                                std::pair(program->curr_role(), true)})
      if (role)
        for (uint32_t device : *program->devices()) {
          const int64_t kind = kindOfStage(isCurr, role->stage());
          int64_t &known = kindOfNode[index.nodeOf(device)];
          if (known >= 0 && known != kind)
            return false;
          known = kind;
        }
  return true;
}

/// Sections that are the only ones of their kinds may exchange tied tensors.
bool SectionWriter::staysInKind(const fb::Program &program) const {
  std::vector<int64_t> copies(sections.kinds.size());
  for (const Sections::Section &section : sections.list)
    ++copies[section.kind];
  const int64_t kind = kindOfNode[index.nodeOf(program.devices()->Get(0))];
  return kind >= 0 && llvm::all_of(*program.peers(), [&](const auto *peers) {
           return llvm::all_of(*peers->devices(), [&](uint32_t device) {
             const int64_t other = kindOfNode[index.nodeOf(device)];
             return other == kind ||
                    (other >= 0 && copies[kind] == 1 && copies[other] == 1);
           });
         });
}

void SectionWriter::writeKinds() {
  for (auto [number, kind] : llvm::enumerate(sections.kinds)) {
    auto entry = std::make_unique<fb::SectionKindT>();
    entry->prev_stages = kind.prevStages;
    entry->curr_stages = kind.currStages;
    entry->layers = kind.layers;
    for (auto [node, ofNode] : llvm::enumerate(kindOfNode))
      if (ofNode == static_cast<int64_t>(number))
        entry->nodes.push_back(node);
    plan.sections->kinds.push_back(std::move(entry));
  }
}

/// NICs at the other ends of hops are more in the plan of all sections; links
/// are the same, since sections share no node.
void SectionWriter::writeRates() {
  for (auto [from, to] : {std::pair(packed.time_bound(), &plan.time_bound),
                          {packed.pause_bound(), &plan.pause_bound}}) {
    if (!from)
      continue;
    const plan::Border border = plan::borderOf(index, *from);
    const auto ends = border.findEnds(index, from->rate());
    (*to)->rate = plan::Border::rateOf(
        index, {ends ? ends->links : &border.own, &border.own});
  }
}

/// Nodes that the kind takes beside those of its previous ranks are, of each
/// section, the next that are free.
bool SectionWriter::writeList() {
  auto free = sections.free.begin();
  for (const Sections::Section &section : sections.list) {
    auto entry = std::make_unique<fb::SectionT>();
    entry->kind = section.kind;
    const std::vector<int64_t> &before = sections.kinds[section.kind].nodes;
    for (int64_t node : plan.sections->kinds[section.kind]->nodes) {
      const auto it = llvm::find(before, node);
      if (it == before.end() && free == sections.free.end())
        return false;
      entry->nodes.push_back(
          it != before.end() ? section.nodes[it - before.begin()] : *free++);
    }
    plan.sections->list.push_back(std::move(entry));
  }
  return true;
}

/// Where names have the number of their layer.
bool SectionWriter::writeNumbers() {
  const Request &request = sections.request;
  const model::Model model =
      model::buildModel(request.model, request.types,
                        request.prev.parallel.distributedOptimizer ||
                            request.curr.parallel.distributedOptimizer);
  llvm::StringMap<int64_t> places;
  for (const model::TensorTemplate &tensor : model.tensors) {
    const StringRef name = tensor.name;
    const size_t number = name.find("{layer}"), expert = name.find("{expert}");
    if (!tensor.isOfLayer() || number == StringRef::npos)
      continue;
    if (expert < number || number > INT16_MAX)
      return false;
    model::forInstances(tensor, model, [&](int64_t layer, int64_t expert) {
      places[model::tensorName(tensor, layer, expert)] =
          static_cast<int64_t>(number);
    });
  }
  for (const auto &tensor : plan.tensors) {
    const auto it = places.find(tensor->name);
    plan.sections->number_at.push_back(it == places.end() ? -1 : it->second);
  }
  return true;
}

std::unique_ptr<fb::ConfigurationT>
SectionWriter::configurationOf(const fb::ConfigurationT &here,
                               const Parallelism &parallel) const {
  auto configuration = std::make_unique<fb::ConfigurationT>(here);
  configuration->pp = parallel.pp;
  configuration->tp = parallel.tp;
  configuration->etp = parallel.expertTp();
  configuration->stages.assign(parallel.stages.begin(), parallel.stages.end());
  configuration->mtp_stage = parallel.mtpStage;
  return configuration;
}

std::optional<std::vector<uint8_t>> SectionWriter::run() {
  if (!readKinds() || !llvm::all_of(*packed.programs(), [&](const auto *it) {
        return staysInKind(*it);
      }))
    return std::nullopt;
  plan.sections = std::make_unique<fb::SectionsT>();
  plan.sections->prev = configurationOf(*plan.prev, all.prev.parallel);
  plan.sections->curr = configurationOf(*plan.curr, all.curr.parallel);
  plan.sections->nodes.assign(all.nodes.begin(), all.nodes.end());
  writeKinds();
  writeRates();
  if (!writeList() || !writeNumbers())
    return std::nullopt;
  plan.features |= plan::kSectionsFeature;
  plan.role_bound.reset();
  plan.summary->paper_policy.reset();
  stateTotals(plan, packed);
  return plan::packPlan(std::move(plan));
}

FailureOr<bool> etc::stateSections(PlannedRequest &planned,
                                   const Sections &sections,
                                   const Request &all) {
  MigrationOp migration = *planned.module->getOps<MigrationOp>().begin();
  std::optional<std::vector<uint8_t>> bytes =
      SectionWriter(planned.plans.front(), sections, all).run();
  if (!bytes)
    return false;
  planned.times.clear(); // of one section of each kind
  planned.plans.front() = std::move(*bytes);
  if (failed(verifySections(migration,
                            *fb::GetPlan(planned.plans.front().data()),
                            sections.request, all)))
    return failure();
  migration->setDiscardableAttr(
      sectionsMark,
      Builder(migration.getContext()).getI64IntegerAttr(sections.list.size()));
  return true;
}
