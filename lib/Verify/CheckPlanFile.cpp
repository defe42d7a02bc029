//===- CheckPlanFile.cpp - V12: a plan file against its migration ---------===//

#include "FileTensors.h"
#include "Rules.h"
#include "dialect/ModelName.h"
#include "etc/Verify/Boundaries.h"

#include <numeric>

using namespace etc;
using namespace mlir;
namespace fb = etc::plan::fb;

namespace {

/// Compares the typed tables of a plan with the ops that they stand for.
class FileChecker {
public:
  FileChecker(MigrationOp migration, const fb::Plan &plan)
      : migration(migration), plan(plan),
        comparison(migration, Rule::PlanFile, "the plan file",
                   "the migration") {}

  LogicalResult run();

private:
  LogicalResult checkModel();
  LogicalResult checkConfiguration(Side side, const fb::Configuration &file);
  LogicalResult checkPlacement();
  LogicalResult checkBarred();
  LogicalResult checkResources();
  LogicalResult checkTimeBounds();
  LogicalResult checkRoleBound();
  LogicalResult checkTimeBound(const std::string &name, TimeBoundOp wanted,
                               const fb::TimeBound *file);
  LogicalResult checkTolls(const std::string &name, TimeBoundOp wanted,
                           const fb::Tolls *file);
  LogicalResult checkPrograms();
  LogicalResult checkCertificates();

  MigrationOp migration;
  const fb::Plan &plan;
  Comparison comparison;
};

} // namespace

//===----------------------------------------------------------------------===//
// The world
//===----------------------------------------------------------------------===//

LogicalResult FileChecker::checkModel() {
  if (failed(comparison.words("model", plan.model()->c_str(),
                              getModelName(migration))))
    return failure();
  return comparison.numbers(
      "", {{"vocab", static_cast<int64_t>(plan.vocab()),
            static_cast<int64_t>(migration.getVocab().value_or(0))},
           {"deferred_rounds", static_cast<int64_t>(plan.deferred_rounds()),
            migration.countDeferredRounds()},
           {"gradient_bytes", static_cast<int64_t>(plan.gradient_bytes()),
            static_cast<int64_t>(migration.getGradientBytes().value_or(0))}});
}

LogicalResult FileChecker::checkConfiguration(Side side,
                                              const fb::Configuration &file) {
  ParallelAttr wanted = migration.getParallel(side);
  const std::string name = stringifySide(side).str() + ".";
  const bool pipelineFirst = file.order() == fb::RankOrder::tp_cp_ep_pp_dp;
  if (failed(comparison.numbers(
          name,
          {{"pp", file.pp(), wanted.getPp()},
           {"tp", file.tp(), wanted.getTp()},
           {"dp", file.dp(), wanted.getDp()},
           {"cp", file.cp(), wanted.getCp()},
           {"ep", file.ep(), wanted.getEp()},
           {"etp", file.etp(), wanted.getEtp()},
           {"vpp", file.vpp(), wanted.getVpp()},
           {"fsdp", file.fsdp(), wanted.getFsdp()},
           {"mtp_stage", file.mtp_stage(), wanted.getMtpStage()},
           {"order", pipelineFirst, wanted.getPpBeforeDp()},
           {"zero1", file.zero1(), wanted.getZero1()},
           {"bucket_elements", static_cast<int64_t>(file.bucket_elements()),
            wanted.getBucketSize()},
           {"inventory", file.inventory(), wanted.getInventory()}})))
    return failure();
  return comparison.lists(name + "stages", numbersOf(file.stages()),
                          wanted.getStages());
}

LogicalResult FileChecker::checkPlacement() {
  SmallVector<int64_t> prev(migration.getPrev().getWorld());
  std::iota(prev.begin(), prev.end(), 0); // rank r is on device r
  if (auto devices = migration.getPrevDevices())
    prev.assign(devices->begin(), devices->end());
  PlacementOp placement = migration.getOnly<PlacementOp>();
  if (failed(comparison.lists("prev_placement",
                              numbersOf(plan.prev_placement()), prev)) ||
      failed(comparison.lists("curr_placement",
                              numbersOf(plan.curr_placement()),
                              placement.getDevices())))
    return failure();
  return comparison.lists("nodes", numbersOf(plan.nodes()),
                          migration.getNodes());
}

LogicalResult FileChecker::checkBarred() {
  SmallVector<int64_t> barred(
      migration.getFailed().value_or(ArrayRef<int64_t>()));
  llvm::append_range(barred,
                     migration.getDraining().value_or(ArrayRef<int64_t>()));
  llvm::sort(barred);
  barred.erase(llvm::unique(barred), barred.end());
  return comparison.lists("barred", numbersOf(plan.barred()), barred);
}

LogicalResult FileChecker::checkResources() {
  ResourcesAttr wanted = migration.getResourcesAttr();
  const fb::Resources *file = plan.resources();
  if (!wanted || !file)
    return comparison.words("resources", file ? "present" : "absent",
                            wanted ? "present" : "absent");
  if (failed(comparison.words("resources.name", file->name()->c_str(),
                              wanted.getName())))
    return failure();
  auto pair = [](StringRef name, uint64_t found, int64_t expected) {
    return NumberPair{name, static_cast<int64_t>(found), expected};
  };
  return comparison.numbers(
      "resources.",
      {pair("assumed", file->assumed(), wanted.getAssumed()),
       pair("link_rate", file->link_rate(), wanted.getLinkRate()),
       pair("link_latency", file->link_latency(), wanted.getLinkLatency()),
       pair("nics", file->nics(), wanted.getNics()),
       pair("nic_rate", file->nic_rate(), wanted.getNicRate()),
       pair("nic_latency", file->nic_latency(), wanted.getNicLatency()),
       pair("pack_rate", file->pack_rate(), wanted.getPackRate()),
       pair("acknowledgements", file->acknowledgements(), wanted.getAcks())});
}

LogicalResult FileChecker::checkTimeBounds() {
  if (failed(checkTimeBound("time_bound", migration.getTimeBound(false),
                            plan.time_bound())))
    return failure();
  return checkTimeBound("pause_bound", migration.getTimeBound(true),
                        plan.pause_bound());
}

LogicalResult FileChecker::checkRoleBound() {
  RoleBoundOp wanted = migration.getOnly<RoleBoundOp>();
  const fb::RoleBound *file = plan.role_bound();
  if (!wanted && !file)
    return success();
  if (!wanted || !file)
    return comparison.words("role_bound", file ? "present" : "absent",
                            wanted ? "present" : "absent");
  if (failed(comparison.lists("role_bound.inside", numbersOf(file->inside()),
                              wanted.getInside())) ||
      failed(comparison.lists("role_bound.row_duals",
                              numbersOf(file->row_duals()), wanted.getU())) ||
      failed(comparison.lists("role_bound.column_duals",
                              numbersOf(file->column_duals()), wanted.getV())))
    return failure();
  return comparison.numbers(
      "role_bound.",
      {{"of_nodes", file->of_nodes(), wanted.getLevel() == Level::Node},
       {"place", static_cast<int64_t>(file->place()),
        static_cast<int64_t>(
            placeInFile(migration.getPlace().value_or(Place::Any)))},
       {"witness", static_cast<int64_t>(file->witness()),
        static_cast<int64_t>(wanted.getWitness())},
       {"bytes", static_cast<int64_t>(file->bytes()),
        static_cast<int64_t>(wanted.getBytes())},
       {"rate", static_cast<int64_t>(file->rate()),
        static_cast<int64_t>(wanted.getRate())}});
}

LogicalResult FileChecker::checkTolls(const std::string &name,
                                      TimeBoundOp wanted,
                                      const fb::Tolls *file) {
  if (!file || !wanted.hasTolls())
    return comparison.words(name, file ? "present" : "absent",
                            wanted.hasTolls() ? "present" : "absent");
  for (auto [list, ofFile, devices] :
       {std::tuple(".links_out", file->links_out(), wanted.getLinksOut()),
        {".links_in", file->links_in(), wanted.getLinksIn()},
        {".nics_out", file->nics_out(), wanted.getNicsOut()},
        {".nics_in", file->nics_in(), wanted.getNicsIn()}})
    if (failed(comparison.lists(name + list, numbersOf(ofFile),
                                devices.value_or(ArrayRef<int64_t>()))))
      return failure();
  return success();
}

LogicalResult FileChecker::checkTimeBound(const std::string &name,
                                          TimeBoundOp wanted,
                                          const fb::TimeBound *file) {
  if (!wanted && !file)
    return success();
  if (!wanted || !file)
    return comparison.words(name, file ? "present" : "absent",
                            wanted ? "present" : "absent");
  if (failed(comparison.lists(name + ".devices", numbersOf(file->devices()),
                              wanted.getDevices())) ||
      failed(
          comparison.lists(name + ".inner", numbersOf(file->inner()),
                           wanted.getInner().value_or(ArrayRef<int64_t>()))) ||
      failed(checkTolls(name + ".tolls", wanted, file->tolls())))
    return failure();
  return comparison.numbers(
      name + ".",
      {{"outgoing", file->outgoing(), wanted.getDirection() == Direction::Out},
       {"bytes", static_cast<int64_t>(file->bytes()),
        static_cast<int64_t>(wanted.getBytes())},
       {"rate", static_cast<int64_t>(file->rate()),
        static_cast<int64_t>(wanted.getRate())}});
}

//===----------------------------------------------------------------------===//
// Programs and their proof
//===----------------------------------------------------------------------===//

/// Stage, slot and replica; empty without a role.
static SmallVector<int64_t> numbersOf(std::optional<RoleAttr> role) {
  if (!role)
    return {};
  return {role->getStage(), role->getSlot(), role->getReplica()};
}

static SmallVector<int64_t> numbersOf(const fb::Role *role) {
  if (!role)
    return {};
  return {role->stage(), role->slot(), role->replica()};
}

/// A file without deferred rounds states no peaks of them, even where the
/// migration defers types, of which then nothing moves.
static LogicalResult checkProgram(const Comparison &comparison,
                                  const std::string &name, bool hasTail,
                                  const fb::Program &file, ProgramOp op) {
  if (failed(comparison.lists(name + ".curr_role", numbersOf(file.curr_role()),
                              numbersOf(op.getCurr()))) ||
      failed(comparison.lists(name + ".prev_role", numbersOf(file.prev_role()),
                              numbersOf(op.getPrev()))) ||
      failed(comparison.lists(name + ".devices", numbersOf(file.devices()),
                              op.getDevices())))
    return failure();
  auto pair = [](StringRef what, uint64_t found,
                 std::optional<uint64_t> expected) {
    return NumberPair{what, static_cast<int64_t>(found),
                      static_cast<int64_t>(expected.value_or(0))};
  };
  return comparison.numbers(
      name,
      {pair(".send_slab", file.send_slab(), op.getSendSlab()),
       pair(".recv_slab", file.recv_slab(), op.getRecvSlab()),
       pair(".peak", file.peak(), op.getPeak()),
       pair(".peak_safe", file.peak_safe(), op.getPeakSafe()),
       pair(".tail_peak", file.tail_peak(), hasTail ? op.getTailPeak() : 0),
       pair(".tail_peak_safe", file.tail_peak_safe(),
            hasTail ? op.getTailPeakSafe() : 0)});
}

LogicalResult FileChecker::checkPrograms() {
  auto ops = llvm::to_vector(migration.getOps<ProgramOp>());
  if (failed(comparison.numbers(
          "programs", {{".size", static_cast<int64_t>(plan.programs()->size()),
                        static_cast<int64_t>(ops.size())}})))
    return failure();
  for (auto [index, op] : llvm::enumerate(ops))
    if (failed(checkProgram(
            comparison, "programs[" + std::to_string(index) + "]",
            plan.deferred_rounds() > 0, *plan.programs()->Get(index), op)))
      return failure();
  return success();
}

/// The duals of each quantity. The referee compares the summary with them.
LogicalResult FileChecker::checkCertificates() {
  const size_t count = plan.certificates() ? plan.certificates()->size() : 0;
  if (failed(comparison.numbers("certificates",
                                {{".size", static_cast<int64_t>(count),
                                  static_cast<int64_t>(llvm::range_size(
                                      migration.getOps<CertificateOp>()))}})))
    return failure();
  for (CertificateOp op : migration.getOps<CertificateOp>()) {
    const fb::Quantity quantity = op.getLevel() == Level::Device
                                      ? fb::Quantity::moved_bytes
                                      : fb::Quantity::internode_bytes;
    const std::string name = fb::EnumNameQuantity(quantity);
    const fb::Certificate *file = nullptr;
    if (plan.certificates())
      for (const fb::Certificate *certificate : *plan.certificates())
        if (certificate->quantity() == quantity)
          file = certificate;
    if (!file)
      return comparison.words("the certificate of " + name, "absent",
                              "present");
    if (failed(comparison.lists(name + ".row_duals",
                                numbersOf(file->row_duals()), op.getU())) ||
        failed(comparison.lists(name + ".column_duals",
                                numbersOf(file->column_duals()), op.getV())))
      return failure();
  }
  return success();
}

LogicalResult FileChecker::run() {
  if (failed(checkModel()) ||
      failed(checkConfiguration(Side::Prev, *plan.prev())) ||
      failed(checkConfiguration(Side::Curr, *plan.curr())) ||
      failed(checkPlacement()) || failed(checkBarred()) ||
      failed(checkResources()) || failed(checkTimeBounds()) ||
      failed(checkRoleBound()) ||
      failed(checkFileTensors(migration, plan, comparison)) ||
      failed(checkPrograms()))
    return failure();
  return checkCertificates();
}

LogicalResult etc::verifyPlanFile(MigrationOp migration, const fb::Plan &plan) {
  return FileChecker(migration, plan).run();
}
