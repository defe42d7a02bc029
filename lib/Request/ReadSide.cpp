//===- ReadSide.cpp - A configuration in JSON -----------------------------===//

#include "LayoutString.h"
#include "MegatronArgs.h"
#include "Reader.h"

using namespace etc::request;
using namespace etc::request::json;
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
  side.stagesWhere = input.field.where;
  if (Error error = readIntegers(input, stageBounds, side.parallel.stages))
    return error;
  if (side.parallel.stages.empty())
    return malformed(input.field,
                     "expected the layers of every stage, got none");
  return Error::success();
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
    {"fsdp", readGridSize<&Parallelism::fsdp>},
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
    {"inventory", readSideInventory},
    {"plan", readFile<planOfFile>},
};

static const Member *findMember(const Input &object, StringRef key) {
  const std::vector<Member> &members = object.node.members;
  auto found = llvm::find_if(
      members, [&](const Member &entry) { return entry.key == key; });
  return found == members.end() ? nullptr : &*found;
}

/// Each of these says all of a configuration.
static Error checkOneSource(const Input &input) {
  const Member *first = nullptr;
  for (StringRef key : {"parallel", "megatron_args", "plan", "inventory"}) {
    const Member *entry = findMember(input, key);
    if (entry && first)
      return malformed(memberOf(input, *entry).field,
                       "the configuration is given as \"" + first->key +
                           "\", too; give one of the two");
    if (entry)
      first = entry;
  }
  if (!first || first->key == "parallel" || first->key == "megatron_args")
    return Error::success();
  for (const Member &entry : input.node.members)
    if (entry.key != first->key)
      return malformed(memberOf(input, entry).field,
                       "the " + first->key +
                           " says all of the configuration; leave one of the "
                           "two out");
  return Error::success();
}

namespace {
/// A member, and what the shorthand may have said of it.
struct Said {
  StringRef key;
  int64_t (*value)(const Parallelism &);
  /// What the shorthand leaves open; a size that is absent is 1.
  std::optional<int64_t> open = std::nullopt;
};
} // namespace

#define ETC_SAID(member)                                                       \
  [](const Parallelism &p) -> int64_t { return p.member; }

static const Said said[] = {
    {"pp", ETC_SAID(pp)},
    {"tp", ETC_SAID(tp)},
    {"dp", ETC_SAID(dp)},
    {"cp", ETC_SAID(cp)},
    {"ep", ETC_SAID(ep)},
    {"etp", ETC_SAID(expertTp())},
    {"vpp", ETC_SAID(vpp)},
    {"fsdp", ETC_SAID(fsdp)},
    {"order", ETC_SAID(order == RankOrder::TpCpEpPpDp), 0},
    {"mtp_stage", ETC_SAID(mtpStage), -1},
    {"distributed_optimizer", ETC_SAID(distributedOptimizer), 0},
    {"bucket_size", ETC_SAID(bucketSize), 0},
};
#undef ETC_SAID

/// Whether a member says otherwise than the shorthand, or the arguments, beside
/// it. These may leave the replicas to the cluster (`fillsCluster`).
static Error checkAgreement(const Input &input, const SideSpec &shorthand,
                            const SideSpec &side) {
  const bool isScript = findMember(input, "megatron_args");
  if (!isScript && !findMember(input, "parallel"))
    return Error::success();
  StringRef source = isScript ? "megatron_args" : "parallel";
  for (const Said &entry : said) {
    const int64_t before = entry.value(shorthand.parallel);
    const Member *member = findMember(input, entry.key);
    const bool isOpen =
        before == entry.open || (entry.key == "dp" && shorthand.fillsCluster);
    if (member && !isOpen && before != entry.value(side.parallel))
      return malformed(memberOf(input, *member).field,
                       "\"" + source +
                           "\" says otherwise; say it in one of the two");
  }
  const Member *stages = findMember(input, "layers_per_stage");
  if (stages && !shorthand.parallel.stages.empty() &&
      shorthand.parallel.stages != side.parallel.stages)
    return malformed(memberOf(input, *stages).field,
                     "\"" + source +
                         "\" says otherwise; say it in one of the two");
  return Error::success();
}

/// Layers are cut into stages by a list or by a rule.
static Error checkOneSplit(const Input &input, const SideSpec &side) {
  if (side.parallel.stages.empty() || !side.split.given())
    return Error::success();
  const Member *list = findMember(input, "layers_per_stage");
  return malformed(list ? memberOf(input, *list).field : input.field,
                   "the layers of every stage are given, and a rule that cuts "
                   "them, too (first_stage_layers, account_for_embedding, "
                   "pipeline_layout, ...); give one of the two");
}

Error json::readSide(const Input &input, SideSpec &side) {
  side.given = true;
  side.where = input.field.where;
  if (input.node.kind == Kind::String)
    return readShorthand(input, side);
  if (input.node.kind != Kind::Object)
    return expected(input, "a configuration such as \"PP4TP2\" or an object");
  if (Error error = checkOneSource(input))
    return error;
  for (auto [key, read] : {std::pair("megatron_args", &readMegatronSide),
                           std::pair("parallel", &readShorthand)})
    for (const Member &entry : input.node.members)
      if (entry.key == key)
        if (Error error = read(memberOf(input, entry), side))
          return error;
  const SideSpec shorthand = side;
  if (Error error = readMembers(input, sideMembers, side))
    return error;
  // Without further replicas, all data-parallel ranks share one copy.
  if (shorthand.parallel.dp == 1 && !findMember(input, "dp"))
    side.parallel.dp = std::max(side.parallel.dp, side.parallel.fsdp);
  if (Error error = checkAgreement(input, shorthand, side))
    return error;
  return checkOneSplit(input, side);
}
