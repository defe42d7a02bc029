// Which plans of sections can be unfolded.

#include "core/plan/Certificates.h"
#include "core/plan/FormatRules.h"
#include "core/plan/SectionMap.h"
#include "core/plan/UnfoldSections.h"

#include <algorithm>

using namespace etc::plan;

/// Bytes of a plan that a byte of its file may state, and the most of any file.
constexpr uint64_t kMostPerByte = 8192,
                   kMostBytes = FLATBUFFERS_MAX_BUFFER_SIZE / 2;

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

/// Ranks of a stage are in a row, and a stage is one chunk.
static Status checkGrid(const std::string &name, const fb::Configuration &here,
                        const fb::Configuration &all) {
  for (const fb::Configuration *c : {&here, &all})
    if (c->inventory() || c->vpp() != 1 ||
        c->order() != fb::RankOrder::tp_cp_ep_dp_pp)
      return malformed(name, ": of sections, a configuration of stages in a "
                             "row with one chunk each");
  if (here.tp() != all.tp() || here.dp() != all.dp() || here.cp() != all.cp() ||
      here.ep() != all.ep() || here.etp() != all.etp() ||
      here.fsdp() != all.fsdp() || here.zero1() != all.zero1())
    return malformed("sections.", name, ": stages are not those of ", name);
  return Status::success();
}

static uint64_t stagesOf(const fb::SectionKind &kind, bool isCurr) {
  return isCurr ? kind.curr_stages() : kind.prev_stages();
}

/// Kinds are made of the stages here, sections of those of all.
static Status checkStages(const fb::Plan &plan) {
  const fb::Sections &sections = *plan.sections();
  for (bool isCurr : {false, true}) {
    uint64_t here = 0, all = 0;
    for (const fb::SectionKind *kind : *sections.kinds())
      here += stagesOf(*kind, isCurr);
    for (const fb::Section *section : *sections.list())
      all += stagesOf(*sections.kinds()->Get(section->kind()), isCurr);
    const fb::Configuration &grid = isCurr ? *plan.curr() : *plan.prev(),
                            &gridOfAll =
                                isCurr ? *sections.curr() : *sections.prev();
    const char *name = isCurr ? "curr" : "prev";
    if (here != grid.pp())
      return malformed("sections.kinds: ", here, " stages, ", name, " has ",
                       grid.pp());
    if (all != gridOfAll.pp())
      return malformed("sections.list: ", all, " stages, sections.", name,
                       " has ", gridOfAll.pp());
  }
  return Status::success();
}

static Status checkConfigurations(const fb::Plan &plan) {
  const fb::Sections &sections = *plan.sections();
  for (auto [name, here, all] :
       {std::tuple("prev", plan.prev(), sections.prev()),
        std::tuple("curr", plan.curr(), sections.curr())}) {
    if (Status s = checkConfiguration(*all); !s.ok())
      return under(std::string("sections.") + name, s);
    if (Status s = checkGrid(name, *here, *all); !s.ok())
      return s;
  }
  return checkStages(plan);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

static Status checkKinds(const fb::Plan &plan) {
  std::vector<bool> isTaken(plan.nodes()->size());
  const auto &kinds = *plan.sections()->kinds();
  for (uint32_t k = 0; k != kinds.size(); ++k) {
    const std::string path = item("sections.kinds", k);
    const Uints &nodes = *kinds.Get(k)->nodes();
    if (kinds.Get(k)->prev_stages() == 0 || kinds.Get(k)->curr_stages() == 0 ||
        kinds.Get(k)->layers() == 0 || nodes.size() == 0)
      return malformed(path, ": stages, layers and nodes are at least 1");
    if (Status s = checkAscending(path + ".nodes", nodes); !s.ok())
      return s;
    for (uint32_t node : nodes) {
      if (node >= isTaken.size())
        return outOfRange(path + ".nodes", node, isTaken.size());
      if (isTaken[node])
        return malformed(path, ".nodes: node ", node, " is of two kinds");
      isTaken[node] = true;
    }
  }
  return Status::success();
}

static Status checkSection(const fb::Plan &plan, const std::string &path,
                           const fb::Section &section,
                           std::vector<bool> &isTaken) {
  const fb::Sections &sections = *plan.sections();
  if (section.kind() >= sections.kinds()->size())
    return outOfRange(path + ".kind", section.kind(), sections.kinds()->size());
  const Uints &here = *sections.kinds()->Get(section.kind())->nodes(),
              &nodes = *section.nodes();
  if (nodes.size() != here.size())
    return malformed(path, ".nodes: ", nodes.size(), " entries, its kind has ",
                     here.size());
  for (uint32_t i = 0; i != nodes.size(); ++i) {
    if (nodes[i] >= isTaken.size())
      return outOfRange(item(path + ".nodes", i), nodes[i], isTaken.size());
    if (isTaken[nodes[i]])
      return malformed(path, ".nodes: node ", nodes[i], " is in two sections");
    isTaken[nodes[i]] = true;
    if (sections.nodes()->Get(nodes[i]) != plan.nodes()->Get(here[i]))
      return malformed(path, ".nodes: node ", nodes[i], " has ",
                       sections.nodes()->Get(nodes[i]), " devices, that of ",
                       "the kind ", plan.nodes()->Get(here[i]));
  }
  return Status::success();
}

/// Each kind has a section, whose nodes no other one has.
static Status checkList(const fb::Plan &plan, uint64_t &mostCopies) {
  const fb::Sections &sections = *plan.sections();
  uint64_t devices = 0;
  for (uint32_t size : *sections.nodes())
    devices += size;
  if (devices > kMostDevices)
    return malformed("sections.nodes: ", devices, " devices, the most are ",
                     kMostDevices);
  std::vector<bool> isTaken(sections.nodes()->size());
  std::vector<uint64_t> copies(sections.kinds()->size());
  for (uint32_t i = 0; i != sections.list()->size(); ++i) {
    const fb::Section &section = *sections.list()->Get(i);
    if (Status s =
            checkSection(plan, item("sections.list", i), section, isTaken);
        !s.ok())
      return s;
    ++copies[section.kind()];
  }
  for (uint32_t k = 0; k != copies.size(); ++k)
    if (copies[k] == 0)
      return malformed(item("sections.kinds", k), ": has no section");
  mostCopies =
      copies.empty() ? 0 : *std::max_element(copies.begin(), copies.end());
  return copies.empty() ? malformed("sections.kinds: at least one is needed")
                        : Status::success();
}

//===----------------------------------------------------------------------===//
// Tensors and programs
//===----------------------------------------------------------------------===//

static Status checkTensors(const fb::Plan &plan) {
  const fb::Sections &sections = *plan.sections();
  if (sections.number_at()->size() != plan.tensors()->size())
    return malformed("sections.number_at: ", sections.number_at()->size(),
                     " entries, there are ", plan.tensors()->size(),
                     " tensors");
  uint64_t layers = 0;
  for (const fb::SectionKind *kind : *sections.kinds())
    layers += kind->layers();
  for (uint32_t t = 0; t != plan.tensors()->size(); ++t) {
    const int at = sections.number_at()->Get(t);
    if (at == -1)
      continue;
    const std::optional<uint32_t> layer = layerOf(plan, t);
    if (!layer || *layer >= layers)
      return malformed(item("sections.number_at", t), ": ", at,
                       " is not where ", plan.tensors()->Get(t)->name()->str(),
                       " has the number of one of ", layers, " layers");
  }
  return Status::success();
}

namespace {
/// What programs do stays in their section, unless both sections are the only
/// ones of their kinds. So do tensors that are made of others.
class ProgramChecker {
public:
  explicit ProgramChecker(const fb::Plan &plan) : plan(plan), map(plan) {}
  Status run() const;

private:
  Status check(const fb::Program &program) const;
  Status checkSources() const;
  Status checkColumns() const;
  /// What is of no layer is there once.
  bool isOnce(int32_t kind) const { return kind < 0 || map.copies(kind) == 1; }
  bool mayReach(uint32_t kind, int32_t other) const {
    return other == static_cast<int32_t>(kind) ||
           (other >= 0 && map.copies(kind) == 1 && map.copies(other) == 1);
  }

  const fb::Plan &plan;
  const SectionMap map;
};
} // namespace

Status ProgramChecker::check(const fb::Program &program) const {
  const int32_t own = map.kindOfDevice(program.devices()->Get(0));
  if (own < 0)
    return malformed(".devices: device ", program.devices()->Get(0),
                     " is on a node of no kind");
  const auto kind = static_cast<uint32_t>(own);
  for (uint32_t device : *program.devices())
    if (map.kindOfDevice(device) != own)
      return malformed(".devices: are of two kinds");
  for (auto [role, side] : {std::pair(program.prev_role(), Side::Prev),
                            std::pair(program.curr_role(), Side::Curr)})
    if (role && map.kindOfStage(side, role->stage()) != kind)
      return malformed(".", sideName(side), " role: is of another kind than ",
                       "its devices");
  for (const fb::Peers *peers : *program.peers())
    for (uint32_t device : *peers->devices())
      if (!mayReach(kind, map.kindOfDevice(device)))
        return malformed(".peers: device ", device, " is of another kind");
  for (const Uints *shards :
       {program.prev_shards(), program.curr_shards(), program.transit_shards()})
    for (uint32_t i = 0; shards && i != shards->size(); ++i) {
      const uint32_t tensor = plan.shards()->Get(shards->Get(i))->tensor();
      const int32_t other = map.kindOfTensor(tensor);
      if (other != own && !(isOnce(own) && isOnce(other)))
        return malformed(": holds ", plan.tensors()->Get(tensor)->name()->str(),
                         ", which is of no layer of its kind");
    }
  return Status::success();
}

Status ProgramChecker::checkSources() const {
  for (uint32_t t = 0; t != plan.tensors()->size(); ++t) {
    const fb::Tensor &tensor = *plan.tensors()->Get(t);
    const int32_t kind = map.kindOfTensor(t);
    for (int32_t source : {tensor.tied_to(), tensor.derived_from()})
      if (source >= 0 && map.kindOfTensor(source) != kind &&
          !(isOnce(kind) && isOnce(map.kindOfTensor(source))))
        return malformed(item("tensors", t), ": is made of tensors[", source,
                         "], which is not in its section");
  }
  return Status::success();
}

/// A column of the certificate between nodes is a class of nodes with the same
/// previous roles.
Status ProgramChecker::checkColumns() const {
  const PlanIndex index(plan);
  const size_t columns = columnsOfNodes(index).devices.size();
  for (uint32_t i = 0; i != sizeOf(plan.certificates()); ++i) {
    const fb::Certificate &it = *plan.certificates()->Get(i);
    if (it.quantity() == fb::Quantity::internode_bytes &&
        it.column_duals()->size() != columns)
      return malformed(item("certificates", i),
                       ".column_duals: ", it.column_duals()->size(),
                       " entries, there are ", columns, " classes of nodes");
  }
  return Status::success();
}

Status ProgramChecker::run() const {
  if (Status s = checkSources(); !s.ok())
    return s;
  for (uint32_t p = 0; p != plan.programs()->size(); ++p)
    if (Status s = check(*plan.programs()->Get(p)); !s.ok())
      return under(item("programs", p), s);
  // Ranks and witnesses are on nodes of their kinds.
  for (auto [name, list] :
       {std::pair("prev_placement", plan.prev_placement()),
        std::pair("curr_placement", plan.curr_placement()),
        std::pair("time_bound.devices",
                  plan.time_bound() ? plan.time_bound()->devices() : nullptr),
        std::pair("pause_bound.devices", plan.pause_bound()
                                             ? plan.pause_bound()->devices()
                                             : nullptr)})
    for (uint32_t i = 0; list && i != list->size(); ++i)
      if (map.kindOfDevice(list->Get(i)) < 0)
        return malformed(item(name, i), ": device ", list->Get(i),
                         " is on a node of no kind");
  return checkColumns();
}

Status etc::plan::checkSections(const fb::Plan &plan, uint64_t planBytes,
                                uint64_t fileBytes) {
  if (plan.slice())
    return malformed("sections: a slice has none");
  if (plan.role_bound() || plan.summary()->paper_policy() ||
      (plan.barred() && plan.barred()->size() != 0))
    return malformed("sections: role_bound, paper_policy and barred are of all "
                     "sections");
  if (plan.sections()->moved_bytes()->size() != plan.forecast()->size())
    return malformed(
        "sections.moved_bytes: ", plan.sections()->moved_bytes()->size(),
        " entries, there are ", plan.forecast()->size(), " rounds");
  if (Status s = checkKinds(plan); !s.ok())
    return s;
  uint64_t copies = 0;
  if (Status s = checkList(plan, copies); !s.ok())
    return s;
  const uint64_t most = std::min(mulBytes(fileBytes, kMostPerByte), kMostBytes);
  if (mulBytes(planBytes, copies) > most)
    return malformed("sections: state more than ", most,
                     " bytes of tables, which is the most for this file");
  if (Status s = ::checkConfigurations(plan); !s.ok())
    return s;
  if (Status s = ::checkTensors(plan); !s.ok())
    return s;
  return ProgramChecker(plan).run();
}
