//===- Sections.cpp - The request of one section of each kind -------------===//

#include "etc/Planner/Sections.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <numeric>
#include <set>

using namespace etc;
using namespace mlir;
using request::Parallelism;
using request::Request;

namespace {

/// A section of the request, before it is known which others are alike.
struct Part {
  Span prev, curr, layers; ///< stages, and layers
  std::vector<int64_t> nodes;
  /// Of each previous rank: the place of its node, and of its device there.
  std::vector<std::pair<int64_t, int64_t>> places;
};

/// What sections of a kind have alike.
struct Likeness {
  std::vector<int64_t> prev, curr;        ///< layers of stages
  std::vector<std::vector<bool>> tensors; ///< of each layer
  std::vector<std::pair<int64_t, int64_t>> places;
  int64_t alone; ///< the number of a section that has more than layers, or -1

  auto operator<=>(const Likeness &) const = default;
};

class Divider {
public:
  explicit Divider(const Request &request)
      : request(request), size(request.nodes.front()) {}

  std::optional<Sections> run();

private:
  bool cut();
  bool placeParts();
  Likeness likenessOf(size_t part) const;
  std::vector<bool> tensorsOf(int64_t layer) const;
  bool isAlone(size_t part) const;
  void sortKinds();
  bool divideNodes();
  void divideModel();
  void divideSide(request::SideSpec &side, Span Part::*stages);
  int64_t nodesOfCurr(const Part &part) const {
    return part.curr.size() * request.curr.parallel.stageSize() / size;
  }

  const Request &request;
  const int64_t size; ///< of each node
  std::vector<Part> parts;
  std::vector<size_t> kept; ///< the first part of each kind
  Sections sections;
};

} // namespace

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

static std::vector<int64_t> layersOfStages(const Parallelism &parallel,
                                           int64_t layers) {
  return parallel.stages.empty()
             ? std::vector<int64_t>(parallel.pp, layers / parallel.pp)
             : parallel.stages;
}

/// Parts end where stages of both sides do.
bool Divider::cut() {
  const std::vector<int64_t> prev = layersOfStages(request.prev.parallel,
                                                   request.model.layers),
                             curr = layersOfStages(request.curr.parallel,
                                                   request.model.layers);
  if (llvm::is_contained(prev, 0) || llvm::is_contained(curr, 0))
    return false;
  size_t p = 0, c = 0;
  int64_t layer = 0;
  while (p != prev.size() && c != curr.size()) {
    Part part;
    part.prev.begin = static_cast<int64_t>(p);
    part.curr.begin = static_cast<int64_t>(c);
    int64_t ofPrev = prev[p++], ofCurr = curr[c++];
    while (ofPrev != ofCurr)
      (ofPrev < ofCurr ? ofPrev : ofCurr) +=
          ofPrev < ofCurr ? prev[p++] : curr[c++];
    part.prev.end = static_cast<int64_t>(p);
    part.curr.end = static_cast<int64_t>(c);
    part.layers = {layer, layer + ofPrev};
    layer += ofPrev;
    parts.push_back(std::move(part));
  }
  return parts.size() > 2;
}

/// Which of the model's tensors a layer has.
std::vector<bool> Divider::tensorsOf(int64_t layer) const {
  std::vector<bool> has = {layer < request.model.experts.denseLayers};
  for (const request::TensorSpec &row : request.model.tensors)
    has.push_back(!row.layers || row.layers->contains({layer, layer + 1}));
  return has;
}

/// Embeddings, the head and layers that predict further tokens are in one
/// section each.
bool Divider::isAlone(size_t part) const {
  const auto has = [](Span stages, int64_t stage) {
    return stages.begin <= stage && stage < stages.end;
  };
  return part == 0 || part + 1 == parts.size() ||
         has(parts[part].prev, request.prev.parallel.mtpStage) ||
         has(parts[part].curr, request.curr.parallel.mtpStage);
}

Likeness Divider::likenessOf(size_t number) const {
  const Part &part = parts[number];
  auto slice = [&](const Parallelism &parallel, Span stages) {
    const std::vector<int64_t> all =
        layersOfStages(parallel, request.model.layers);
    return std::vector(all.begin() + stages.begin, all.begin() + stages.end);
  };
  Likeness likeness{slice(request.prev.parallel, part.prev),
                    slice(request.curr.parallel, part.curr),
                    {},
                    part.places,
                    isAlone(number) ? static_cast<int64_t>(number) : -1};
  for (int64_t layer = part.layers.begin; layer != part.layers.end; ++layer)
    likeness.tensors.push_back(tensorsOf(layer));
  return likeness;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// No node has ranks of two parts before, and none has to have afterwards.
bool Divider::placeParts() {
  const int64_t ranks = request.prev.parallel.stageSize();
  std::vector<bool> isTaken(request.nodes.size());
  for (Part &part : parts) {
    std::map<int64_t, int64_t> placeOf;
    for (int64_t rank = part.prev.begin * ranks; rank != part.prev.end * ranks;
         ++rank) {
      const int64_t device = request.prev.devices
                                 ? (*request.prev.devices)[rank]
                                 : rank,
                    node = device / size;
      auto [it, isNew] = placeOf.try_emplace(node, part.nodes.size());
      if (isNew && isTaken[node])
        return false;
      if (isNew)
        part.nodes.push_back(node);
      part.places.push_back({it->second, device % size});
    }
    for (int64_t node : part.nodes)
      isTaken[node] = true;
    if (part.curr.size() * request.curr.parallel.stageSize() % size)
      return false;
  }
  for (size_t node = 0; node != isTaken.size(); ++node)
    if (!isTaken[node])
      sections.free.push_back(static_cast<int64_t>(node));
  return true;
}

/// Parts that grow get free nodes; those of the request stand behind the nodes
/// of previous ranks.
bool Divider::divideNodes() {
  int64_t further = 0;
  for (const Part &part : parts)
    further += std::max<int64_t>(
        0, nodesOfCurr(part) - static_cast<int64_t>(part.nodes.size()));
  const auto free = static_cast<int64_t>(sections.free.size());
  if (further > free || (further < free && request.place != "pack"))
    return false;
  int64_t nodes = 0;
  further = 0;
  std::vector<int64_t> devices;
  for (size_t number : kept) {
    const Part &part = parts[number];
    Sections::Kind kind{
        part.prev.size(), part.curr.size(), part.layers.size(), {}};
    for (auto [node, device] : part.places)
      devices.push_back((nodes + node) * size + device);
    for (size_t i = 0; i != part.nodes.size(); ++i)
      kind.nodes.push_back(nodes++);
    sections.kinds.push_back(std::move(kind));
    further += std::max<int64_t>(
        0, nodesOfCurr(part) - static_cast<int64_t>(part.nodes.size()));
  }
  sections.request.nodes.assign(nodes + further, size);
  std::vector<int64_t> inOrder(devices.size());
  std::iota(inOrder.begin(), inOrder.end(), 0);
  sections.request.prev.devices.reset();
  if (devices != inOrder)
    sections.request.prev.devices.emplace(devices);
  return true;
}

//===----------------------------------------------------------------------===//
// The request
//===----------------------------------------------------------------------===//

void Divider::sortKinds() {
  std::map<Likeness, size_t> numbers;
  for (size_t part = 0; part != parts.size(); ++part) {
    auto [it, isNew] = numbers.try_emplace(likenessOf(part), kept.size());
    if (isNew)
      kept.push_back(part);
    sections.list.push_back({it->second, parts[part].nodes});
  }
}

void Divider::divideSide(request::SideSpec &side, Span Part::*stages) {
  Parallelism &parallel = side.parallel;
  std::vector<int64_t> layers;
  int64_t mtpStage = -1, pp = 0;
  for (size_t part : kept) {
    const Span span = parts[part].*stages;
    for (int64_t stage = span.begin; stage != span.end; ++stage, ++pp) {
      if (!parallel.stages.empty())
        layers.push_back(parallel.stages[stage]);
      if (stage == parallel.mtpStage)
        mtpStage = pp;
    }
  }
  parallel.pp = pp;
  parallel.stages = std::move(layers);
  parallel.mtpStage = mtpStage;
  side.split = {};
  side.planned.reset();
  side.plannedModel.clear();
  side.model.reset();
}

/// Without the layers of further sections. What a row says of layers is a span
/// of those that are kept, too.
void Divider::divideModel() {
  request::ModelSpec &model = sections.request.model;
  auto countBefore = [&](int64_t layer) {
    int64_t count = 0;
    for (size_t part : kept)
      count += intersect(parts[part].layers, Span{0, layer}).size();
    return count;
  };
  model.experts.denseLayers = countBefore(model.experts.denseLayers);
  for (request::TensorSpec &row : model.tensors)
    if (row.layers)
      row.layers =
          Span{countBefore(row.layers->begin), countBefore(row.layers->end)};
  model.layers = countBefore(model.layers);
}

std::optional<Sections> Divider::run() {
  if (!cut() || !placeParts())
    return std::nullopt;
  sections.request = request;
  sections.request.hosts.clear();
  sortKinds();
  if (kept.size() == parts.size() || !divideNodes())
    return std::nullopt;
  divideSide(sections.request.prev, &Part::prev);
  divideSide(sections.request.curr, &Part::curr);
  divideModel();
  return std::move(sections);
}

/// Stages have their ranks in a row, and are one chunk each.
static bool isInRow(const Parallelism &parallel) {
  return parallel.vpp == 1 && parallel.order == request::RankOrder::TpCpEpDpPp;
}

std::optional<Sections> etc::sectionsOf(const Request &request,
                                        int64_t sectionsFrom) {
  const Parallelism &prev = request.prev.parallel,
                    &curr = request.curr.parallel;
  if (request.policy != "best" || request.prev.inventory ||
      request.curr.inventory || request.curr.devices ||
      !request.failed.empty() || !request.draining.empty() || !isInRow(prev) ||
      !isInRow(curr) || !(prev.hasRanges() || curr.hasRanges()) ||
      std::max(prev.world(), curr.world()) < sectionsFrom ||
      !llvm::all_equal(request.nodes))
    return std::nullopt;
  return Divider(request).run();
}
