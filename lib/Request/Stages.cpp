//===- Stages.cpp - The layers of every stage -----------------------------===//
//
// Megatron's ways to cut layers into stages, all resolved into one list: the
// layers of each chunk in forward order (Parallelism::stages).
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "Checks.h"
#include "LayoutString.h"
#include "Scalars.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace etc::request;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;
using Chunks = std::vector<int64_t>;

/// The numbers next to `wanted` that `divisor` divides, as a remedy.
static std::string nearestMultiples(llvm::StringRef name, int64_t wanted,
                                    int64_t divisor) {
  int64_t below = wanted / divisor * divisor;
  std::string text = "use ";
  if (below > 0)
    text += name.str() + " = " + std::to_string(below) + " or ";
  return text + name.str() + " = " + std::to_string(below + divisor);
}

/// The same number of layers in every chunk of a stage.
static Error appendChunks(Chunks &stage, int64_t layers, int64_t vpp, int64_t p,
                          const Field &field) {
  if (layers % vpp == 0) {
    stage.assign(vpp, layers / vpp);
    return Error::success();
  }
  return unsatisfiable(field, Twine(layers) + " layers of stage " + Twine(p) +
                                  " do not divide over vpp = " + Twine(vpp) +
                                  "; " +
                                  nearestMultiples("layers", layers, vpp));
}

/// From chunks by stage to chunks in forward order.
static Chunks inForwardOrder(llvm::ArrayRef<Chunks> stages, int64_t vpp) {
  Chunks order;
  for (int64_t k = 0; k < vpp; ++k)
    for (const Chunks &stage : stages)
      order.push_back(stage[k]);
  return order;
}

/// num_layers_in_first_pipeline_stage, ..._last_...: the others share the rest.
static Expected<Chunks> splitEnds(const SideSpec &side, int64_t layers,
                                  const Field &field) {
  const PipelineSplit &split = side.split;
  int64_t pp = side.parallel.pp;
  int64_t given = split.firstStage.has_value() + split.lastStage.has_value();
  int64_t rest =
      layers - split.firstStage.value_or(0) - split.lastStage.value_or(0);
  int64_t middle = pp - given;
  if (middle < 0)
    return unsatisfiable(field, "one stage can't have both first_stage_layers "
                                "and last_stage_layers; give one of them");
  if (rest < 0 || (middle == 0 && rest != 0))
    return unsatisfiable(field, Twine(layers) +
                                    " layers, of which the first and the last "
                                    "stage take " +
                                    Twine(layers - rest) + ", leave " +
                                    Twine(rest) + " for " + Twine(middle) +
                                    " stages");
  if (middle > 0 && rest % middle != 0)
    return unsatisfiable(field, Twine(rest) +
                                    " layers do not divide over the "
                                    "other " +
                                    Twine(middle) + " stages; " +
                                    nearestMultiples("layers", rest, middle) +
                                    " for them");
  std::vector<Chunks> stages(pp);
  for (int64_t p = 0; p < pp; ++p) {
    int64_t count = middle ? rest / middle : 0;
    if (p == 0 && split.firstStage)
      count = *split.firstStage;
    else if (p == pp - 1 && split.lastStage)
      count = *split.lastStage;
    if (Error error =
            appendChunks(stages[p], count, side.parallel.vpp, p, field))
      return error;
  }
  return inForwardOrder(stages, side.parallel.vpp);
}

/// account_for_embedding, ..._loss: each counts as a layer of its stage.
static Expected<Chunks> splitAccounting(const SideSpec &side, int64_t layers,
                                        const Field &field) {
  const PipelineSplit &split = side.split;
  int64_t chunks = side.parallel.pp * side.parallel.vpp;
  int64_t counted = layers + split.accountForEmbedding + split.accountForLoss;
  if (counted % chunks != 0)
    return unsatisfiable(
        field, Twine(layers) + " layers, " + Twine(counted) +
                   " with embedding and loss as asked, do not divide over pp "
                   "* vpp = " +
                   Twine(chunks) + "; " +
                   nearestMultiples("layers and ends", counted, chunks));
  Chunks order(chunks, counted / chunks);
  order.front() -= split.accountForEmbedding;
  order.back() -= split.accountForLoss;
  if (order.front() < 0 || order.back() < 0)
    return unsatisfiable(field, "a single chunk can't stand for the embedding "
                                "and the loss alone");
  return order;
}

static Expected<Chunks> splitLayout(SideSpec &side, const Field &field) {
  auto layout = parseLayoutString(side.split.layout, field);
  if (!layout)
    return layout.takeError();
  int64_t pp = side.parallel.pp;
  int64_t chunks = static_cast<int64_t>(layout->layers.size());
  if (chunks % pp != 0)
    return unsatisfiable(field,
                         "a pipeline layout of " + Twine(chunks) +
                             " chunks does not divide over pp = " + Twine(pp) +
                             "; " + nearestMultiples("chunks", chunks, pp));
  side.parallel.vpp = chunks / pp;
  if (layout->mtpChunk >= 0) {
    int64_t p = layout->mtpChunk % pp;
    if (layout->mtpChunk / pp != side.parallel.vpp - 1)
      return unsatisfiable(field, "the layers of multi-token prediction are "
                                  "not in the last chunk of stage " +
                                      Twine(p) +
                                      "; Megatron runs them there only");
    side.parallel.mtpStage = p == pp - 1 ? -1 : p;
  }
  return layout->layers;
}

static Expected<Chunks> chunksOf(SideSpec &side, int64_t layers,
                                 const Field &field) {
  const PipelineSplit &split = side.split;
  bool ends = split.firstStage || split.lastStage;
  bool accounting = split.accountForEmbedding || split.accountForLoss;
  if (ends + accounting + !split.layout.empty() > 1)
    return malformed(field, "expected one way to cut the layers into stages: "
                            "first_stage_layers and last_stage_layers, "
                            "account_for_embedding and account_for_loss, or "
                            "pipeline_layout; got more");
  if (!split.layout.empty())
    return splitLayout(side, field);
  return ends ? splitEnds(side, layers, field)
              : splitAccounting(side, layers, field);
}

/// --num-layers-per-virtual-pipeline-stage: how many chunks these make.
static Error resolveChunks(SideSpec &side, int64_t layers, const Field &field) {
  int64_t pp = side.parallel.pp, chunk = side.layersPerChunk;
  int64_t counted =
      layers + side.split.accountForEmbedding + side.split.accountForLoss;
  if (counted % pp != 0)
    return Error::success(); // refused where stages are
  int64_t stage = counted / pp;
  if (stage % chunk != 0)
    return unsatisfiable(field,
                         Twine(stage) +
                             " layers of a stage do not divide over "
                             "chunks of " +
                             Twine(chunk) + "; " +
                             useDivisor("layers of a chunk", stage, chunk));
  side.parallel.vpp = stage / chunk;
  return Error::success();
}

Error etc::request::resolveStages(SideSpec &side, int64_t layers,
                                  const Field &field) {
  if (side.layersPerChunk)
    if (Error error = resolveChunks(side, layers, field))
      return error;
  if (side.split.given()) {
    auto chunks = chunksOf(side, layers, field);
    if (!chunks)
      return chunks.takeError();
    side.parallel.stages = std::move(*chunks);
  }
  // Equal chunks are said by an empty list, so that equal configurations
  // compare equal.
  Chunks &stages = side.parallel.stages;
  int64_t sum = std::accumulate(stages.begin(), stages.end(), int64_t(0));
  if (llvm::all_equal(stages) && sum == layers &&
      static_cast<int64_t>(stages.size()) ==
          side.parallel.pp * side.parallel.vpp)
    stages.clear();
  if (side.parallel.etp == side.parallel.tp)
    side.parallel.etp = 0;
  return Error::success();
}
