//===- CheckPlanFile.cpp - V12: a plan file against its migration ---------===//

#include "Comparison.h"
#include "etc/Verify/Boundaries.h"

#include "llvm/ADT/StringMap.h"

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
  LogicalResult checkConfiguration(Side side, const fb::Configuration &file);
  LogicalResult checkPlacement();
  LogicalResult checkBarred();
  LogicalResult checkTensorCount();
  LogicalResult checkTensors();
  LogicalResult checkTensor(const Twine &name, const fb::Tensor &tensor,
                            TensorOp op, StateAttr state);
  TensorOp find(StringRef name, StringRef type) const;
  LogicalResult checkPrograms();
  LogicalResult checkCertificates();

  MigrationOp migration;
  const fb::Plan &plan;
  Comparison comparison;
  /// The templates of a name; several where types differ in shape.
  llvm::StringMap<SmallVector<TensorOp, 1>> tensors;
};

} // namespace

/// Numbers of a plan file, as attributes have them; none where it has no list.
template <typename Vector>
static SmallVector<int64_t> numbersOf(const Vector *list) {
  return list ? SmallVector<int64_t>(list->begin(), list->end())
              : SmallVector<int64_t>();
}

//===----------------------------------------------------------------------===//
// The world
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static bool hasType(TensorOp op, StringRef type) {
  return !op.getTypes() ||
         llvm::any_of(op.getTypes()->getAsValueRange<StringAttr>(),
                      [&](StringRef name) { return name == type; });
}

/// Whether elements of the type are what a plan file calls so.
static bool isOf(Type type, fb::DType dtype) {
  switch (dtype) {
  case fb::DType::bf16:
    return type.isBF16();
  case fb::DType::fp16:
    return type.isF16();
  case fb::DType::fp32:
    return type.isF32();
  case fb::DType::fp64:
    return type.isF64();
  case fb::DType::i64:
    return type.isInteger(64);
  case fb::DType::u8:
    return type.isInteger(8);
  }
  return false;
}

TensorOp FileChecker::find(StringRef name, StringRef type) const {
  auto it = tensors.find(name);
  if (it == tensors.end())
    return nullptr;
  auto op =
      llvm::find_if(it->second, [&](TensorOp op) { return hasType(op, type); });
  return op != it->second.end() ? *op : nullptr;
}

LogicalResult FileChecker::checkTensor(const Twine &name,
                                       const fb::Tensor &tensor, TensorOp op,
                                       StateAttr state) {
  if (!isOf(state.getDtype(), tensor.dtype())) {
    std::string wanted;
    llvm::raw_string_ostream(wanted) << state.getDtype();
    return comparison.words(name, fb::EnumNameDType(tensor.dtype()), wanted);
  }
  // A tied copy has the shapes of what it is a copy of.
  if (op.getTiedTo())
    if (TensorOp primary = find(*op.getTiedTo(), state.getName()))
      op = primary;
  const SmallVector<int64_t> shape = numbersOf(tensor.shape()),
                             prev = numbersOf(tensor.prev_shape());
  if (failed(comparison.lists(name + ".shape", shape, op.getShape())) ||
      failed(comparison.lists(name + ".prev_shape", prev.empty() ? shape : prev,
                              op.getShapeOn(Side::Prev))))
    return failure();
  return comparison.lists(name + ".view", numbersOf(tensor.view()),
                          op.getView().value_or(ArrayRef<int64_t>()));
}

/// One of each layer and expert, and of each of its types.
LogicalResult FileChecker::checkTensorCount() {
  int64_t count = 0;
  for (TensorOp op : migration.getOps<TensorOp>()) {
    if (!op.isOn(migration.getPrev()) && !op.isOn(migration.getCurr()))
      continue;
    int64_t instances = 1;
    if (op.getPart() == Part::Layer)
      instances =
          llvm::count_if(llvm::seq<int64_t>(0, migration.getLayers()),
                         [&](int64_t layer) { return op.isInLayer(layer); });
    if (op.isOfExpert())
      instances *= migration.getExperts().value_or(1);
    count += instances * (op.getTypes() ? op.getTypes()->size()
                                        : migration.getTypes().size());
  }
  return comparison.numbers(
      "tensors",
      {{".size", static_cast<int64_t>(plan.tensors()->size()), count}});
}

LogicalResult FileChecker::checkTensors() {
  for (TensorOp op : migration.getOps<TensorOp>())
    tensors[op.getName()].push_back(op);
  llvm::StringMap<StateAttr> states;
  for (StateAttr state : migration.getTypes().getAsRange<StateAttr>())
    states[state.getName()] = state;
  for (const fb::Tensor *tensor : *plan.tensors()) {
    const flatbuffers::String *name =
        tensor->pattern() < 0 ? tensor->name()
                              : plan.patterns()->Get(tensor->pattern());
    const StringRef type = tensor->type()->c_str();
    StateAttr state = states.lookup(type);
    TensorOp op = find(name->c_str(), type);
    if (!state || !op)
      return comparison.words(Twine(tensor->name()->c_str()) + " of " + type,
                              "a tensor", "none");
    if (failed(checkTensor(Twine(tensor->name()->c_str()) + " of " + type,
                           *tensor, op, state)))
      return failure();
  }
  return checkTensorCount();
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

static LogicalResult checkProgram(const Comparison &comparison,
                                  const std::string &name,
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
      name, {pair(".send_slab", file.send_slab(), op.getSendSlab()),
             pair(".recv_slab", file.recv_slab(), op.getRecvSlab()),
             pair(".peak", file.peak(), op.getPeak()),
             pair(".peak_safe", file.peak_safe(), op.getPeakSafe())});
}

LogicalResult FileChecker::checkPrograms() {
  auto ops = llvm::to_vector(migration.getOps<ProgramOp>());
  if (failed(comparison.numbers(
          "programs", {{".size", static_cast<int64_t>(plan.programs()->size()),
                        static_cast<int64_t>(ops.size())}})))
    return failure();
  for (auto [index, op] : llvm::enumerate(ops))
    if (failed(checkProgram(comparison,
                            "programs[" + std::to_string(index) + "]",
                            *plan.programs()->Get(index), op)))
      return failure();
  return success();
}

/// The duals of each quantity. The referee compares the summary with them.
LogicalResult FileChecker::checkCertificates() {
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
  if (failed(checkConfiguration(Side::Prev, *plan.prev())) ||
      failed(checkConfiguration(Side::Curr, *plan.curr())) ||
      failed(checkPlacement()) || failed(checkBarred()) ||
      failed(checkTensors()) || failed(checkPrograms()))
    return failure();
  return checkCertificates();
}

LogicalResult etc::verifyPlanFile(MigrationOp migration, const fb::Plan &plan) {
  return FileChecker(migration, plan).run();
}
