//===- EtcRequestVerifiers.cpp - Invariants of a request ------------------===//

#include "dialect/Limits.h"
#include "dialect/NameMarks.h"
#include "dialect/Verifiers.h"
#include "dialect/Workloads.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace etc;
using namespace mlir;

//===----------------------------------------------------------------------===//
// MigrationOp
//===----------------------------------------------------------------------===//

/// The chunks of a side have all layers, and its expert ranks all experts.
static LogicalResult verifyLayers(MigrationOp op, StringRef name,
                                  ParallelAttr parallel) {
  int64_t layers = op.getLayers(), experts = op.getExperts().value_or(0),
          chunks = parallel.getPp() * parallel.getVpp();
  if (experts % parallel.getEp())
    return op.emitOpError()
           << name << ": " << experts
           << " experts do not divide over EP = " << parallel.getEp();
  if (!parallel.getStages().empty()) {
    int64_t sum = 0;
    for (int64_t count : parallel.getStages())
      sum += std::min(count, layers + 1);
    if (sum != layers)
      return op.emitOpError() << name << ": stages of " << sum
                              << " layers in all, expected " << layers;
    return success();
  }
  if (layers % chunks)
    return op.emitOpError()
           << name << ": " << layers << " layers do not divide over "
           << (parallel.getVpp() == 1 ? "PP = " : "PP x VPP = ") << chunks;
  return success();
}

/// One side fits: its stages, its devices and their number.
static LogicalResult verifySide(MigrationOp op, Side side,
                                std::optional<ArrayRef<int64_t>> devices) {
  ParallelAttr parallel = op.getParallel(side);
  StringRef name = stringifySide(side);
  if (failed(verifyLayers(op, name, parallel)))
    return failure();
  if (parallel.getWorld() > op.getDeviceCount())
    return op.emitOpError() << name << ": a world of " << parallel.getWorld()
                            << " ranks exceeds the cluster's "
                            << op.getDeviceCount() << " devices";
  if (!devices)
    return success();
  if (static_cast<int64_t>(devices->size()) != parallel.getWorld())
    return op.emitOpError() << name << ": expected " << parallel.getWorld()
                            << " devices, one a rank, got " << devices->size();
  return verifyDevices(op, op, name, *devices);
}

/// What later sums and products rely on.
static LogicalResult verifySizes(MigrationOp op) {
  int64_t devices = 0;
  for (int64_t node : op.getNodes()) {
    if (node < 1)
      return op.emitOpError("every node must have at least one device");
    devices += std::min(node, mostDevices + 1);
    if (devices > mostDevices)
      return op.emitOpError() << "expected at most " << mostDevices
                              << " devices in all nodes, got more";
  }
  const int64_t layers = op.getLayers(), experts = op.getExperts().value_or(0);
  if (layers > mostLayers)
    return op.emitOpError()
           << "expected at most " << mostLayers << " layers, got " << layers;
  if (experts > mostExperts)
    return op.emitOpError()
           << "expected at most " << mostExperts << " experts, got " << experts;
  return success();
}

LogicalResult MigrationOp::verify() {
  if (!isa<ModuleOp>((*this)->getParentOp()))
    return emitOpError("expects parent op 'builtin.module'");
  if (failed(verifySizes(*this)) ||
      failed(verifySide(*this, Side::Prev, getPrevDevices())) ||
      failed(verifySide(*this, Side::Curr, getCurrDevices())) ||
      failed(verifyDevices(*this, *this, "failed",
                           getFailed().value_or(ArrayRef<int64_t>()))) ||
      failed(verifyDevices(*this, *this, "draining",
                           getDraining().value_or(ArrayRef<int64_t>()))))
    return failure();
  if (getBudgetBytes() && getBudgetPpm())
    return emitOpError(
        "has a budget in bytes and one in ppm, expected one of them");
  llvm::StringSet<> names;
  for (auto [type, state] :
       llvm::enumerate(getTypes().getAsRange<StateAttr>())) {
    if (!names.insert(state.getName().getValue()).second)
      return emitOpError() << "type '" << state.getName().getValue()
                           << "' is listed twice";
    if (failed(verifyElementType(state.getName().getValue(), state.getDtype(),
                                 [&] { return emitOpError(); })))
      return failure();
    if (failed(verifyDerivation(type)))
      return failure();
  }
  if (names.empty())
    return emitOpError("expected at least one type");
  return verifyDeferred();
}

/// The types that a tensor has, of the migration's.
static SmallVector<StringAttr> typesOf(MigrationOp migration, TensorOp tensor) {
  if (tensor.getTypes())
    return llvm::to_vector(tensor.getTypes()->getAsRange<StringAttr>());
  SmallVector<StringAttr> types;
  for (StateAttr state : migration.getTypes().getAsRange<StateAttr>())
    types.push_back(state.getName());
  return types;
}

/// Tensors of one name have no type in common: each would be held twice.
static LogicalResult verifyDistinct(MigrationOp migration,
                                    ArrayRef<TensorOp> tensors) {
  llvm::StringMap<TensorOp> declared;
  for (TensorOp tensor : tensors) {
    for (StringAttr type : typesOf(migration, tensor)) {
      std::string key = (tensor.getName() + "|" + type.getValue()).str();
      if (declared.try_emplace(key, tensor).second)
        continue;
      InFlightDiagnostic diag = tensor.emitOpError("is declared twice");
      diag.attachNote(declared[key].getLoc()) << "first declared here";
      return diag;
    }
  }
  return success();
}

/// The ids of all ops at once: what they name is looked up often.
static LogicalResult verifyWorkloads(MigrationOp migration) {
  WorkloadVerifier verifier(migration);
  for (WorkloadOp workload : migration.getOps<WorkloadOp>())
    if (failed(verifier.verify(workload, workload.getWid())))
      return failure();
  llvm::DenseSet<ArrayAttr> known; // many ops have the same
  WalkResult result = migration.getBody().walk([&](WorkloadsOpInterface op) {
    return known.insert(op.getWid()).second
               ? WalkResult(verifier.verify(op, op.getWid()))
               : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// How many tensors of one layer and expert the op stands for.
static int64_t instancesOf(MigrationOp migration, TensorOp tensor) {
  int64_t layers = 1, experts = tensor.isOfExpert()
                                    ? migration.getExperts().value_or(1)
                                    : 1;
  if (tensor.getPart() == ::etc::Part::Layer)
    layers = migration.getLayers();
  if (std::optional<ArrayRef<int64_t>> range = tensor.getOfLayers())
    layers = std::min(layers, (*range)[1]) - (*range)[0];
  return std::max<int64_t>(layers, 0) * experts;
}

static LogicalResult verifyCount(MigrationOp migration) {
  int64_t count = 0;
  for (TensorOp tensor : migration.getOps<TensorOp>()) {
    count += instancesOf(migration, tensor);
    if (count > mostTensors)
      return tensor.emitOpError()
             << "expected at most " << mostTensors
             << " tensors of all layers and experts, got more";
  }
  return success();
}

LogicalResult etc::verifySums(MigrationOp migration) {
  unsigned __int128 sums[2] = {0, 0};
  for (TensorOp tensor : migration.getOps<TensorOp>()) {
    int64_t bytes = 0;
    for (StringAttr type : typesOf(migration, tensor))
      bytes +=
          cast<StateAttr>(migration.getTypes()[*migration.lookupType(type)])
              .getBytes();
    const unsigned __int128 count = instancesOf(migration, tensor);
    for (auto [sum, side] :
         {std::pair(&sums[0], Side::Prev), std::pair(&sums[1], Side::Curr)}) {
      const int64_t elements = llvm::product_of(tensor.getShapeOn(side));
      // At most every rank of a stage has all of it.
      *sum += count * elements * bytes *
              migration.getParallel(side).getStageWorld();
    }
  }
  if (std::max(sums[0], sums[1]) <= mostBytes)
    return success();
  return migration.emitFieldError({"model"})
         << "expected at most 2^61 bytes of state on all ranks of a side, got "
            "more; use a smaller model or fewer ranks";
}

/// What a tied copy and its twin differ in; empty where they are equal, element
/// by element, on each side that has the copy. An inventory has what it lists,
/// and need not have the copy.
static StringRef differenceOf(MigrationOp migration, TensorOp copy,
                              TensorOp twin) {
  for (Side side : {Side::Prev, Side::Curr}) {
    const ParallelAttr parallel = migration.getParallel(side);
    if (!parallel.getInventory() && copy.isOn(parallel) &&
        copy.getShapeOn(side) != twin.getShapeOn(side))
      return "shape";
  }
  if (copy.getSplit() != twin.getSplit())
    return "split axis";
  const bool isLayer = copy.getPart() == ::etc::Part::Layer;
  if (isLayer != (twin.getPart() == ::etc::Part::Layer) ||
      copy.getOfLayers() != twin.getOfLayers())
    return "range of layers";
  return copy.isOfExpert() == twin.isOfExpert() ? "" : "number of experts";
}

/// A tied copy equals a tensor that is no copy itself, in the same types. An
/// inventory need not hold all of them.
static LogicalResult
verifyTie(MigrationOp migration, TensorOp copy,
          const llvm::StringMap<SmallVector<TensorOp, 1>> &declared) {
  auto twins = declared.find(*copy.getTiedTo());
  if (twins == declared.end())
    return copy.emitOpError()
           << "is tied to '" << *copy.getTiedTo() << "', which is not declared";
  auto refuse = [&](TensorOp twin, const Twine &what) -> LogicalResult {
    InFlightDiagnostic diag = copy.emitOpError()
                              << "is tied to '" << *copy.getTiedTo() << "', "
                              << what;
    diag.attachNote(twin.getLoc()) << "declared here";
    return diag;
  };
  bool hasTypes =
      migration.getPrev().getInventory() || migration.getCurr().getInventory();
  for (TensorOp twin : twins->second) {
    if (twin.getTiedTo())
      return refuse(twin, "which is a tied copy itself");
    if (typesOf(migration, twin) != typesOf(migration, copy))
      continue;
    hasTypes = true;
    if (StringRef what = differenceOf(migration, copy, twin); !what.empty())
      return refuse(twin, "which has another " + what);
  }
  return hasTypes ? success()
                  : refuse(twins->second.front(), "which has other types");
}

static LogicalResult verifyTies(MigrationOp migration,
                                ArrayRef<TensorOp> tensors) {
  llvm::StringMap<SmallVector<TensorOp, 1>> declared;
  for (TensorOp tensor : tensors)
    declared[tensor.getName()].push_back(tensor);
  for (TensorOp tensor : tensors)
    if (tensor.getTiedTo() && failed(verifyTie(migration, tensor, declared)))
      return failure();
  return success();
}

LogicalResult MigrationOp::verifyRegions() {
  SmallVector<TensorOp> tensors = llvm::to_vector(getOps<TensorOp>());
  for (TensorOp tensor : tensors) {
    if (tensor.isOfExpert() && !getExperts())
      return tensor.emitOpError(
          "is of an expert, but the migration has no experts");
    for (auto type : tensor.getTypes()
                         .value_or(ArrayAttr::get(getContext(), {}))
                         .getAsRange<StringAttr>())
      if (!lookupType(type))
        return tensor.emitOpError() << "type '" << type.getValue()
                                    << "' is not one of the migration's";
  }
  if (failed(verifyDistinct(*this, tensors)) ||
      failed(verifyTies(*this, tensors)) || failed(verifyCount(*this)) ||
      failed(verifySums(*this)))
    return failure();
  return verifyWorkloads(*this);
}

//===----------------------------------------------------------------------===//
// TensorOp
//===----------------------------------------------------------------------===//

/// `of_layers` is a range of layers of a tensor in layers.
static LogicalResult verifyOfLayers(TensorOp op) {
  std::optional<ArrayRef<int64_t>> range = op.getOfLayers();
  if (!range)
    return success();
  if (op.getPart() != ::etc::Part::Layer)
    return op.emitOpError("names layers, but is not of a layer");
  if (range->size() != 2 || (*range)[0] < 0 || (*range)[1] <= (*range)[0])
    return op.emitOpError("expected one range of layers");
  return success();
}

/// Extents are positive, and so many elements can be counted.
static LogicalResult verifyShape(TensorOp op, ArrayRef<int64_t> shape) {
  if (shape.empty() || llvm::any_of(shape, [](int64_t n) { return n < 1; }))
    return op.emitOpError("expected a shape of positive extents");
  unsigned __int128 elements = 1;
  for (int64_t extent : shape) {
    elements *= extent;
    if (elements > mostElements)
      return op.emitOpError("expected at most 2^56 elements, got more");
  }
  return success();
}

LogicalResult TensorOp::verify() {
  bool perLayer = getName().contains(layerMark);
  if (perLayer != (getPart() == ::etc::Part::Layer))
    return emitOpError()
           << "expected '" << layerMark
           << "' in the name of a tensor in a layer, and only there";
  if (isOfExpert() && !perLayer && getPart() != ::etc::Part::Mtp)
    return emitOpError("is of an expert, but not of a layer");
  if (getTypes() && getTypes()->empty())
    return emitOpError("expected at least one type");
  if (failed(verifyOfLayers(*this)))
    return failure();
  if (failed(verifyShape(*this, getShape())))
    return failure();
  if (getSplit() && static_cast<size_t>(*getSplit()) >= getShape().size())
    return emitOpError() << "splits axis " << *getSplit()
                         << " of a tensor with " << getShape().size()
                         << " axes";
  std::optional<ArrayRef<int64_t>> prev = getPrevShape();
  if (!prev)
    return success();
  if (prev->size() != getShape().size() ||
      prev->drop_front() != getShape().drop_front())
    return emitOpError("prev shape may differ along axis 0 only");
  if (failed(verifyShape(*this, *prev)))
    return failure();
  if (getCutAxis() != 0)
    return emitOpError(
        "prev shape may differ only along the axis that is split");
  return success();
}
