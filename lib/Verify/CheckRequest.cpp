//===- CheckRequest.cpp - V13: a migration against its request ------------===//

#include "RequestModel.h"
#include "dialect/Reserve.h"
#include "etc/Request/States.h"
#include "etc/Verify/Boundaries.h"

#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace etc;
using namespace mlir;

static std::string join(SmallVector<StringRef> names) {
  llvm::sort(names);
  return names.empty() ? "none" : llvm::join(names, ", ");
}

/// What is named, or all but what a forward pass reads.
static std::string deferredOf(const request::Request &request) {
  SmallVector<StringRef> names;
  const bool isAll = llvm::is_contained(request.defer, "optimizer");
  for (const std::string &type : request.types)
    if (isAll ? !request::isParameters(type)
              : llvm::is_contained(request.defer, type))
      names.push_back(type);
  return join(std::move(names));
}

static std::string deferredOf(MigrationOp migration) {
  SmallVector<StringRef> names;
  if (std::optional<ArrayAttr> types = migration.getDeferred())
    llvm::append_range(names, types->getAsValueRange<StringAttr>());
  return join(std::move(names));
}

namespace {

/// Compares a migration with the fields of its request.
class RequestChecker {
public:
  RequestChecker(MigrationOp migration, const request::Request &request)
      : migration(migration), request(request),
        comparison(migration, Rule::Request, "the migration", "the request") {}

  LogicalResult run();

private:
  LogicalResult checkSide(Side side, std::optional<ArrayRef<int64_t>> devices);
  LogicalResult checkSplit(Side side);
  LogicalResult checkLayout(Side side, ArrayRef<int64_t> layers);
  LogicalResult checkWords();
  LogicalResult checkBudget();
  LogicalResult checkResources();

  const request::SideSpec &ask(Side side) const {
    return side == Side::Prev ? request.prev : request.curr;
  }

  MigrationOp migration;
  const request::Request &request;
  Comparison comparison;
};

} // namespace

LogicalResult
RequestChecker::checkSide(Side side, std::optional<ArrayRef<int64_t>> devices) {
  ParallelAttr made = migration.getParallel(side);
  const request::SideSpec &asked = ask(side);
  const request::Parallelism &wanted = asked.parallel;
  const std::string name = stringifySide(side).str() + ".";
  if (failed(comparison.numbers(
          name,
          {{"pp", made.getPp(), wanted.pp},
           {"tp", made.getTp(), wanted.tp},
           {"dp", made.getDp(), wanted.dp},
           {"cp", made.getCp(), wanted.cp},
           {"ep", made.getEp(), wanted.ep},
           {"etp", made.getEtp(), wanted.etp ? wanted.etp : wanted.tp},
           {"vpp", made.getVpp(), wanted.vpp},
           {"fsdp", made.getFsdp(), wanted.fsdp},
           {"mtp", made.getMtpStage(), wanted.mtpStage},
           {"order", made.getPpBeforeDp(),
            wanted.order == request::RankOrder::TpCpEpPpDp},
           {"zero1", made.getZero1(), wanted.distributedOptimizer},
           {"buckets", made.getBucketSize(), wanted.bucketElements()},
           {"inventory", made.getInventory(), asked.inventory != nullptr},
           {"devices.given", devices.has_value(), asked.devices.has_value()}})))
    return failure();
  if (asked.devices &&
      failed(comparison.lists(name + "devices", *devices, *asked.devices)))
    return failure();
  if (failed(
          comparison.lists(name + "stages", made.getStages(), wanted.stages)))
    return failure();
  return checkSplit(side);
}

/// A pipeline layout without its repetitions: "E(t|)*2L" is "Et|t|L".
static std::string spellOut(StringRef layout) {
  std::string text;
  while (!layout.empty()) {
    std::string unit = layout.take_front().str();
    layout = layout.drop_front();
    if (unit == "(") {
      const auto [inner, rest] = layout.split(')');
      unit = spellOut(inner);
      layout = rest;
    }
    int64_t times = 1;
    if (layout.consume_front("*"))
      layout.consumeInteger(10, times);
    while (times-- > 0)
      text += unit;
  }
  return text;
}

/// A pipeline layout says what is in each chunk.
LogicalResult RequestChecker::checkLayout(Side side, ArrayRef<int64_t> layers) {
  std::string layout = ask(side).split.layout;
  llvm::erase(layout, ',');
  const std::string text = spellOut(layout);
  SmallVector<StringRef> chunks;
  StringRef(text).split(chunks, '|');
  ParallelAttr made = migration.getParallel(side);
  const int64_t last = made.getPp() - 1;
  int64_t mtpStage = last;
  SmallVector<int64_t> wanted;
  for (auto [chunk, letters] : llvm::enumerate(chunks)) {
    wanted.push_back(letters.count('t'));
    if (letters.contains('m'))
      mtpStage = static_cast<int64_t>(chunk) % made.getPp();
  }
  const std::string name = stringifySide(side).str();
  if (failed(comparison.lists(name + ".layers of chunks", layers, wanted)))
    return failure();
  return comparison.numbers(
      name, {{".mtp_stage", made.getMtpStage() < 0 ? last : made.getMtpStage(),
              mtpStage}});
}

/// The layers of each stage, by the words that the request cuts them with.
LogicalResult RequestChecker::checkSplit(Side side) {
  const request::PipelineSplit &split = ask(side).split;
  if (!split.given())
    return success();
  ParallelAttr made = migration.getParallel(side);
  const int64_t pp = made.getPp(), chunks = pp * made.getVpp();
  SmallVector<int64_t> ofChunks(made.getStages());
  if (ofChunks.empty())
    ofChunks.assign(chunks, request.model.layers / chunks);
  if (!split.layout.empty())
    return checkLayout(side, ofChunks);
  SmallVector<int64_t> layers(pp);
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    layers[chunk % pp] += ofChunks[chunk];
  SmallVector<int64_t> wanted(pp);
  wanted.front() = split.firstStage.value_or(0);
  wanted.back() += split.lastStage.value_or(0);
  const int64_t ends = split.accountForEmbedding + split.accountForLoss,
                rest = request.model.layers + ends - wanted.front() -
                       (pp > 1 ? wanted.back() : 0);
  const bool firstFixed = split.firstStage.has_value(),
             lastFixed = split.lastStage.has_value();
  const int64_t others = pp - firstFixed - lastFixed;
  for (auto [stage, count] : llvm::enumerate(wanted))
    if (others && !(stage == 0 && firstFixed) &&
        !(static_cast<int64_t>(stage) == pp - 1 && lastFixed))
      count = rest / others;
  wanted.front() -= split.accountForEmbedding;
  wanted.back() -= split.accountForLoss;
  return comparison.lists(stringifySide(side).str() + ".layers of stages",
                          layers, wanted);
}

/// The paper's policy does not know of `place`.
LogicalResult RequestChecker::checkWords() {
  const bool isPaper = request.policy == "paper";
  const Place place = migration.getPlace().value_or(Place::Any);
  if (failed(comparison.words("place", stringifyPlace(place),
                              isPaper ? "any" : StringRef(request.place))) ||
      failed(comparison.words("the deferred types", deferredOf(migration),
                              deferredOf(request))))
    return failure();
  return comparison.numbers(
      "",
      {{"policy paper", migration.getPolicy() == Policy::Paper, isPaper},
       {"derive none", migration.getDeriveNone(), request.movesParameters()},
       {"gradient bytes",
        static_cast<int64_t>(migration.getGradientBytes().value_or(0)),
        request.isDeferred() ? request.gradientBytes : 0},
       {"layers", static_cast<int64_t>(migration.getLayers()),
        request.model.layers},
       {"experts", static_cast<int64_t>(migration.getExperts().value_or(0)),
        request.model.experts.count}});
}

LogicalResult RequestChecker::checkBudget() {
  using Unit = request::MemoryBudget::Unit;
  auto wanted = [&](Unit unit) {
    return request.memoryBudget && request.memoryBudget->unit == unit
               ? request.memoryBudget->amount - request.reserve
               : 0;
  };
  return comparison.numbers(
      "budget_",
      {{"bytes", static_cast<int64_t>(migration.getBudgetBytes().value_or(0)),
        wanted(Unit::Bytes)},
       {"ppm", static_cast<int64_t>(migration.getBudgetPpm().value_or(0)),
        wanted(Unit::PartsPerMillion)},
       {"reserve", getReservedBytes(migration), request.reserve}});
}

LogicalResult RequestChecker::checkResources() {
  ResourcesAttr made = migration.getResourcesAttr();
  const request::ClusterRates &wanted = request.rates;
  if (!made)
    return comparison.words("resources", "absent", "present");
  return comparison.numbers("resources.",
                            {{"link rate", made.getLinkRate(), wanted.linkRate},
                             {"NICs", made.getNics(), wanted.nics},
                             {"NIC rate", made.getNicRate(), wanted.nicRate},
                             {"pack rate", made.getPackRate(), wanted.packRate},
                             {"assumed", made.getAssumed(), wanted.assumed}});
}

LogicalResult RequestChecker::run() {
  if (failed(checkSide(Side::Prev, migration.getPrevDevices())) ||
      failed(checkSide(Side::Curr, migration.getCurrDevices())) ||
      failed(comparison.lists("nodes", migration.getNodes(), request.nodes)) ||
      failed(comparison.lists(
          "failed", migration.getFailed().value_or(ArrayRef<int64_t>()),
          request.failed)) ||
      failed(comparison.lists(
          "draining", migration.getDraining().value_or(ArrayRef<int64_t>()),
          request.draining)) ||
      failed(checkWords()) || failed(checkBudget()) || failed(checkResources()))
    return failure();
  return checkRequestModel(migration, request, comparison);
}

LogicalResult etc::verifyRequest(MigrationOp migration,
                                 const request::Request &request) {
  return RequestChecker(migration, request).run();
}
