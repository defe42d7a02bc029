//===- ReadSide.cpp - A configuration in JSON -----------------------------===//

#include "LayoutString.h"
#include "MegatronArgs.h"
#include "Reader.h"

using namespace etc::config;
using namespace etc::config::json;
using llvm::Error;
using llvm::StringRef;

template <int64_t Parallelism::*Size>
static Error readGridSize(const Input &input, SideSpec &side) {
  return readInteger(input, gridBounds, side.parallel.*Size);
}

static Error readDp(const Input &input, SideSpec &side) {
  side.fillsCluster = false;
  return readInteger(input, gridBounds, side.parallel.dp);
}

/// The layers of one stage may be none.
static constexpr Bounds stageBounds = {0, layerBounds.most};

template <std::optional<int64_t> PipelineSplit::*Layers>
static Error readStageLayers(const Input &input, SideSpec &side) {
  return readInteger(input, stageBounds, (side.split.*Layers).emplace());
}

template <bool PipelineSplit::*Flag>
static Error readAccounting(const Input &input, SideSpec &side) {
  return readBool(input, side.split.*Flag);
}

static Error readLayersPerStage(const Input &input, SideSpec &side) {
  return readIntegers(input, stageBounds, side.parallel.stages);
}

static Error readPipelineLayout(const Input &input, SideSpec &side) {
  if (input.node.kind != Kind::String || input.node.text.empty())
    return expected(input, "a pipeline layout such as \"Ett|(tt|)*6,tL\"");
  side.split.layout = input.node.text;
  return parseLayoutString(input.node.text, input.field).takeError();
}

static Error readMtpStage(const Input &input, SideSpec &side) {
  return readInteger(input, stageBounds, side.parallel.mtpStage);
}

static Error readOrder(const Input &input, SideSpec &side) {
  std::string word;
  if (Error error = readWord(input, values().order, word))
    return error;
  side.parallel.order =
      word == "tp-cp-ep-pp-dp" ? RankOrder::TpCpEpPpDp : RankOrder::TpCpEpDpPp;
  return Error::success();
}

static Error readSideDevices(const Input &input, SideSpec &side) {
  side.devicesWhere = input.field.where;
  side.devices.emplace();
  return readIntegers(input, deviceBounds, *side.devices);
}

static Error readDistributedOptimizer(const Input &input, SideSpec &side) {
  return readBool(input, side.parallel.distributedOptimizer);
}

static Error readBucketSize(const Input &input, SideSpec &side) {
  if (input.node.kind == Kind::String && input.node.text == "default") {
    side.parallel.bucketSize = Parallelism::defaultBuckets;
    return Error::success();
  }
  if (input.node.kind != Kind::Integer)
    return expected(input, "a number of elements or \"default\"");
  return readInteger(input, bucketBounds, side.parallel.bucketSize);
}

static Error readMegatronSide(const Input &input, SideSpec &side) {
  if (input.node.kind != Kind::String)
    return expected(input, "the arguments of a training script");
  return sideOfMegatronArgs(input.node.text, input.field, side);
}

/// The shorthand, with more members beside it, or a file.
static Error readShorthand(const Input &input, SideSpec &side) {
  if (input.node.kind != Kind::String)
    return expected(input, "a configuration such as \"PP4TP2\"");
  if (namesSideFile(input.node.text))
    return sideOfFile(input.node.text, input.field, side);
  return store(parseParallelism(input.node.text, input.field), side.parallel);
}

/// They are read before the other members, wherever they stand.
static Error skip(const Input &, SideSpec &) { return Error::success(); }

template <Error (*read)(StringRef, const Field &, SideSpec &)>
static Error readFile(const Input &input, SideSpec &side) {
  if (input.node.kind != Kind::String)
    return expected(input, "the name of a file");
  return read(input.node.text, input.field, side);
}

static const MemberReader<SideSpec> sideMembers[] = {
    {"pp", readGridSize<&Parallelism::pp>},
    {"tp", readGridSize<&Parallelism::tp>},
    {"dp", readDp},
    {"cp", readGridSize<&Parallelism::cp>},
    {"ep", readGridSize<&Parallelism::ep>},
    {"etp", readGridSize<&Parallelism::etp>},
    {"vpp", readGridSize<&Parallelism::vpp>},
    {"parallel", skip},
    {"megatron_args", skip},
    {"order", readOrder},
    {"layers_per_stage", readLayersPerStage},
    {"first_stage_layers", readStageLayers<&PipelineSplit::firstStage>},
    {"last_stage_layers", readStageLayers<&PipelineSplit::lastStage>},
    {"account_for_embedding",
     readAccounting<&PipelineSplit::accountForEmbedding>},
    {"account_for_loss", readAccounting<&PipelineSplit::accountForLoss>},
    {"pipeline_layout", readPipelineLayout},
    {"mtp_stage", readMtpStage},
    {"devices", readSideDevices},
    {"distributed_optimizer", readDistributedOptimizer},
    {"bucket_size", readBucketSize},
    {"inventory", readFile<inventoryOfFile>},
    {"plan", readFile<planOfFile>},
};

Error json::readSide(const Input &input, SideSpec &side) {
  side.given = true;
  side.where = input.field.where;
  if (input.node.kind == Kind::String)
    return readShorthand(input, side);
  if (input.node.kind != Kind::Object)
    return expected(input, "a configuration such as \"PP4TP2\" or an object");
  for (auto [key, read] : {std::pair("megatron_args", &readMegatronSide),
                           std::pair("parallel", &readShorthand)})
    for (const Member &entry : input.node.members)
      if (entry.key == key)
        if (Error error = read(memberOf(input, entry), side))
          return error;
  return readMembers(input, sideMembers, side);
}
