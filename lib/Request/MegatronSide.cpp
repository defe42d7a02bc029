//===- MegatronSide.cpp - The configuration of a training script ----------===//

#include "Arguments.h"
#include "LayoutString.h"
#include "MegatronArgs.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc::request;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

/// The ranks of the job; 0 if the arguments don't say.
static Expected<int64_t> worldOf(Arguments &arguments) {
  int64_t nodes = 1, perNode = 0, world = 0;
  const Number numbers[] = {{"nnodes", &nodes, gridBounds},
                            {"nproc-per-node", &perNode, gridBounds},
                            {"world-size", &world, gridBounds}};
  if (Error error = arguments.numbers(numbers))
    return error;
  return world ? world : nodes * perNode;
}

static Error readChunks(Arguments &arguments, SideSpec &side) {
  StringRef ways[] = {"num-virtual-stages-per-pipeline-rank",
                      "num-layers-per-virtual-pipeline-stage",
                      "pipeline-model-parallel-layout"};
  if (llvm::count_if(ways, [&](StringRef way) { return arguments.has(way); }) >
      1)
    return malformed(arguments.fieldOf(ways[1]),
                     "Megatron takes one of --" + ways[0] + ", --" + ways[1] +
                         " and --" + ways[2] + ", got more");
  if (arguments.has(ways[1]) &&
      (arguments.has("decoder-first-pipeline-num-layers") ||
       arguments.has("decoder-last-pipeline-num-layers")))
    return malformed(arguments.fieldOf(ways[1]),
                     "Megatron takes it with even stages only; use --" +
                         ways[0]);
  if (Error error = arguments.number(ways[0], side.parallel.vpp, gridBounds))
    return error;
  return arguments.number(ways[1], side.layersPerChunk, layerBounds);
}

static Error readSplit(Arguments &arguments, PipelineSplit &split) {
  constexpr Bounds bounds = {0, layerBounds.most};
  for (auto [name, target] :
       {std::pair("decoder-first-pipeline-num-layers", &split.firstStage),
        std::pair("decoder-last-pipeline-num-layers", &split.lastStage)})
    if (arguments.has(name))
      if (Error error = arguments.number(name, target->emplace(), bounds))
        return error;
  split.accountForEmbedding =
      arguments.has("account-for-embedding-in-pipeline-split");
  split.accountForLoss = arguments.has("account-for-loss-in-pipeline-split");
  split.layout = arguments.text("pipeline-model-parallel-layout").str();
  if (split.layout.empty())
    return Error::success();
  return parseLayoutString(split.layout,
                           arguments.fieldOf("pipeline-model-parallel-layout"))
      .takeError();
}

/// Gradients that are reduced while others are computed come in buckets.
static Error readBuckets(Arguments &arguments, Parallelism &grid) {
  if (!grid.distributedOptimizer || !arguments.has("overlap-grad-reduce") ||
      arguments.has("overlap-param-gather-with-optimizer-step"))
    return Error::success();
  grid.bucketSize = Parallelism::defaultBuckets;
  return arguments.number("ddp-bucket-size", grid.bucketSize, bucketBounds);
}

Error etc::request::sideOfMegatronArgs(StringRef text, const Field &field,
                                       SideSpec &side) {
  Arguments arguments(field);
  if (Error error = arguments.parse(text))
    return error;
  side.given = true;
  side.where = field.where;
  Parallelism &grid = side.parallel;
  int64_t instances = 1;
  const Number numbers[] = {
      {"tensor-model-parallel-size", &grid.tp, gridBounds},
      {"pipeline-model-parallel-size", &grid.pp, gridBounds},
      {"context-parallel-size", &grid.cp, gridBounds},
      {"expert-model-parallel-size", &grid.ep, gridBounds},
      {"expert-tensor-parallel-size", &grid.etp, gridBounds},
      {"num-distributed-optimizer-instances", &instances, gridBounds},
  };
  if (Error error = arguments.numbers(numbers))
    return error;
  if (instances > 1)
    return malformed(
        arguments.fieldOf("num-distributed-optimizer-instances"),
        "optimizer states that repeat inside of data-parallel groups are not "
        "supported; use 1");
  if (Error error = readChunks(arguments, side))
    return error;
  grid.distributedOptimizer = arguments.has("use-distributed-optimizer");
  if (Error error = readBuckets(arguments, grid))
    return error;
  if (arguments.has("use-tp-pp-dp-mapping"))
    grid.order = RankOrder::TpCpEpPpDp;
  auto world = worldOf(arguments);
  if (!world)
    return world.takeError();
  int64_t size = grid.tp * grid.cp;
  if (*world && *world % (size * grid.pp) != 0)
    return malformed(
        field, Twine(*world) + " ranks do not divide by tp * cp * pp = " +
                   Twine(size * grid.pp) + "; use --world-size " +
                   Twine((*world / (size * grid.pp) + 1) * size * grid.pp));
  if (arguments.has("num-layers")) {
    auto model = std::make_shared<ModelSpec>();
    if (Error error = readModel(arguments, *model))
      return error;
    side.model = std::move(model);
  }
  side.fillsCluster = *world == 0;
  grid.dp = *world ? *world / (size * grid.pp) : 1;
  return readSplit(arguments, side.split);
}
