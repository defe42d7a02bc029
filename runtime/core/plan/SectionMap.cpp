#include "core/plan/SectionMap.h"

#include <algorithm>
#include <charconv>

using namespace etc::plan;

constexpr uint32_t kMostLayers = 1'000'000;

std::optional<uint32_t> etc::plan::layerOf(const fb::Plan &plan,
                                           uint32_t tensor) {
  const std::string_view name =
      plan.tensors()->Get(tensor)->name()->string_view();
  const int at = plan.sections()->number_at()->Get(tensor);
  if (at < 0 || static_cast<size_t>(at) >= name.size())
    return std::nullopt;
  uint32_t layer = 0;
  const char *begin = name.data() + at;
  const auto [end, error] =
      std::from_chars(begin, name.data() + name.size(), layer);
  if (error != std::errc() || layer > kMostLayers ||
      (*begin == '0' && end != begin + 1))
    return std::nullopt;
  return layer;
}

static std::vector<uint32_t>
beginsOf(const flatbuffers::Vector<uint32_t> &nodes) {
  std::vector<uint32_t> begins;
  uint32_t next = 0;
  for (uint32_t size : nodes) {
    begins.push_back(next);
    next += size;
  }
  return begins;
}

static uint32_t stagesOf(const fb::SectionKind &kind, size_t side) {
  return side == 0 ? kind.prev_stages() : kind.curr_stages();
}

SectionMap::SectionMap(const fb::Plan &plan)
    : plan(plan), kindOfNode_(plan.nodes()->size(), kNoKind),
      placeOfNode(plan.nodes()->size()), begins(beginsOf(*plan.nodes())),
      beginsOfAll(beginsOf(*plan.sections()->nodes())) {
  const fb::Sections &sections = *plan.sections();
  uint32_t node = 0;
  for (uint32_t size : *plan.nodes())
    nodeOf.insert(nodeOf.end(), size, node++);
  const uint32_t kindCount = sections.kinds()->size();
  copies_.resize(kindCount);
  first.resize(kindCount);
  uint32_t layers = 0, next[2] = {0, 0};
  for (uint32_t kind = 0; kind != kindCount; ++kind) {
    const fb::SectionKind &it = *sections.kinds()->Get(kind);
    for (uint32_t i = 0; i != it.nodes()->size(); ++i) {
      kindOfNode_[it.nodes()->Get(i)] = static_cast<int32_t>(kind);
      placeOfNode[it.nodes()->Get(i)] = i;
    }
    firstLayer.push_back(layers);
    layers += it.layers();
    for (size_t side : {0, 1}) {
      stages[side].push_back(next[side]);
      next[side] += stagesOf(it, side);
    }
  }
  layers = next[0] = next[1] = 0;
  for (const fb::Section *section : *sections.list()) {
    const uint32_t kind = section->kind();
    if (copies_[kind]++ == 0)
      first[kind] = kinds.size();
    kinds.push_back(kind);
    const fb::SectionKind &it = *sections.kinds()->Get(kind);
    layersBefore.push_back(layers);
    layers += it.layers();
    for (size_t side : {0, 1}) {
      stagesOfAll[side].push_back(next[side]);
      next[side] += stagesOf(it, side);
    }
  }
  for (uint32_t t = 0; t != plan.tensors()->size(); ++t) {
    const std::optional<uint32_t> layer = layerOf(plan, t);
    kindOfTensor_.push_back(
        layer
            ? static_cast<int32_t>(std::upper_bound(firstLayer.begin(),
                                                    firstLayer.end(), *layer) -
                                   firstLayer.begin() - 1)
            : kNoKind);
  }
}

std::vector<uint64_t> SectionMap::copiesOfRanks(const PlanIndex &index) const {
  std::vector<uint64_t> copies;
  for (uint32_t device : index.participants())
    copies.push_back(copies_[kindOfNode_[index.nodeOf(device)]]);
  return copies;
}

uint32_t SectionMap::kindOfStage(Side side, uint32_t stage) const {
  const std::vector<uint32_t> &firsts = stages[side == Side::Curr];
  return std::upper_bound(firsts.begin(), firsts.end(), stage) -
         firsts.begin() - 1;
}

uint32_t SectionMap::nodeIn(uint32_t section, uint32_t node) const {
  const uint32_t own = sectionOf(kindOfNode_[node], section);
  return plan.sections()->list()->Get(own)->nodes()->Get(placeOfNode[node]);
}

uint32_t SectionMap::deviceIn(uint32_t section, uint32_t device) const {
  const uint32_t node = nodeOf[device];
  return beginsOfAll[nodeIn(section, node)] + device - begins[node];
}

uint32_t SectionMap::stageIn(uint32_t section, Side side,
                             uint32_t stage) const {
  const bool isCurr = side == Side::Curr;
  return stagesOfAll[isCurr][section] + stage - stages[isCurr][kinds[section]];
}

SectionMap::Place SectionMap::placeOf(Side side, uint32_t stage) const {
  const bool isCurr = side == Side::Curr;
  const std::vector<uint32_t> &firsts = stagesOfAll[isCurr];
  const uint32_t section =
      std::upper_bound(firsts.begin(), firsts.end(), stage) - firsts.begin() -
      1;
  return {section, stage - firsts[section] + stages[isCurr][kinds[section]]};
}

std::string SectionMap::nameIn(uint32_t section, uint32_t tensor) const {
  std::string name = plan.tensors()->Get(tensor)->name()->str();
  const int at = plan.sections()->number_at()->Get(tensor);
  if (at < 0)
    return name;
  const uint32_t layer = *layerOf(plan, tensor);
  return name.replace(at, std::to_string(layer).size(),
                      std::to_string(layer - firstLayer[kinds[section]] +
                                     layersBefore[section]));
}
