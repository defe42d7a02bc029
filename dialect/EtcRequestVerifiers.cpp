//===- EtcRequestVerifiers.cpp - Invariants of a request ------------------===//

#include "dialect/Limits.h"
#include "dialect/NameMarks.h"
#include "dialect/Verifiers.h"
#include "dialect/Workloads.h"

#include "mlir/IR/Builders.h"
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
    if (!state.getDtype().isIntOrFloat() ||
        state.getDtype().getIntOrFloatBitWidth() % 8)
      return emitOpError() << "type '" << state.getName().getValue()
                           << "' must have whole bytes, got "
                           << state.getDtype();
    if (failed(verifyDerivation(type)))
      return failure();
  }
  return names.empty() ? emitOpError("expected at least one type") : success();
}

/// Tensors of one name have no type in common: each would be held twice.
static LogicalResult verifyDistinct(ArrayRef<TensorOp> tensors) {
  llvm::StringMap<TensorOp> declared;
  for (TensorOp tensor : tensors) {
    ArrayAttr types =
        tensor.getTypes().value_or(Builder(tensor).getStrArrayAttr({""}));
    for (StringRef type : types.getAsValueRange<StringAttr>()) {
      std::string key = (tensor.getName() + "|" + type).str();
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
  WalkResult result = migration.getBody().walk([&](WorkloadsOpInterface op) {
    return WalkResult(verifier.verify(op, op.getWid()));
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

LogicalResult MigrationOp::verifyRegions() {
  SmallVector<TensorOp> tensors = llvm::to_vector(getOps<TensorOp>());
  llvm::StringSet<> names;
  for (TensorOp tensor : tensors)
    names.insert(tensor.getName());
  for (TensorOp tensor : tensors) {
    if (std::optional<StringRef> twin = tensor.getTiedTo();
        twin && !names.contains(*twin))
      return tensor.emitOpError()
             << "is tied to '" << *twin << "', which is not declared";
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
  if (failed(verifyDistinct(tensors)) || failed(verifyCount(*this)))
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
