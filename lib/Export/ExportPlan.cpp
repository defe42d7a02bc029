//===- ExportPlan.cpp - IR to a refereed plan -----------------------------===//

#include "PlanCertificates.h"
#include "PlanResources.h"
#include "PlanRoles.h"
#include "PlanShards.h"
#include "PlanTables.h"
#include "core/plan/PlanFile.h"
#include "core/plan/Referee.h"
#include "core/proof/PlanCertificates.h"
#include "dialect/ModelName.h"
#include "etc/Analysis/Devices.h"
#include "etc/Analysis/Holdings.h"
#include "etc/Export/Export.h"
#include "etc/Transforms/PaperVolumes.h"

using namespace etc;
using namespace mlir;
namespace fb = etc::plan::fb;

namespace {
class PlanExporter {
public:
  explicit PlanExporter(MigrationOp migration)
      : migration(migration), table(migration), tables(migration, table, plan),
        shards(migration, table, tables, plan) {}

  FailureOr<std::vector<uint8_t>> run();

private:
  void writeWorld(PlacementOp placement);
  void writeProgram(ProgramOp program);
  void writeRound(RoundOp op, fb::RoundT &round);
  void writeInstruction(InstructionOpInterface op);
  /// What the operations of an instruction read, beside their tensor.
  enum class Reads : unsigned { Itself, DerivationSource, Nothing };
  /// Some of `namedOps`.
  struct NamedOps {
    uint32_t first = 0, count = 0;
  };
  NamedOps findOps(ArrayAttr ids, ArrayAttr names, Reads reads);
  uint32_t sourceOf(int64_t device, const Piece &piece, uint32_t tensor);
  void listTransit(ProgramOp program, fb::ProgramT &entry);
  void account(ProgramOp program, const fb::ProgramT &entry);
  void accountRound(ProgramOp program, const fb::RoundT &round,
                    fb::RoundForecast &forecast);
  uint64_t bytesOf(const fb::Op &op);
  /// Gone with the next box that the plan gets.
  BoxView boxOf(const fb::Op &op) const {
    return BoxView::ofBounds(
        plan.bounds.data() + op.box(),
        static_cast<unsigned>(plan.tensors[op.tensor()]->shape.size()));
  }
  void writePaperPolicy();
  LogicalResult checkShards();

  mutable MigrationOp migration; ///< ops are handles, their getters not const
  TensorTable table;
  fb::PlanT plan;
  PlanTables tables;
  PlanShards shards;
  /// By ids, types and what is read: tensors, sources and boxes, which both
  /// ends of a message share. The rest is of the instruction.
  llvm::DenseMap<std::tuple<Attribute, Attribute, unsigned>, NamedOps> named;
  std::vector<fb::Op> namedOps;
  /// By the first op: where any tensor is tied, the piece of each op.
  llvm::DenseMap<uint32_t, std::vector<Piece>> tied;
  std::vector<fb::Op> ops; ///< of the round at hand
  /// Who holds what, once a tied tensor is read.
  std::optional<std::pair<Holdings, Devices>> before;
  SmallVector<uint32_t> nodeOf;
  uint64_t sent = 0, received = 0; // of one device of the program at hand
  uint64_t needed = 0; // bytes of the previous state, of the types that move
};
} // namespace

template <typename Range>
static std::vector<uint32_t> toUnsigned(Range &&values) {
  return std::vector<uint32_t>(values.begin(), values.end());
}

//===----------------------------------------------------------------------===//
// The world
//===----------------------------------------------------------------------===//

void PlanExporter::writeWorld(PlacementOp placement) {
  plan.model = getModelName(migration).str();
  plan.vocab = migration.getVocab().value_or(0);
  plan.prev = configurationOf(migration.getPrev());
  plan.curr = configurationOf(migration.getCurr());
  plan.nodes = toUnsigned(migration.getNodes());
  writeResources(migration, plan);
  plan.prev_placement = toUnsigned(migration.getPrevPlacement());
  plan.curr_placement = toUnsigned(placement.getDevices());
  for (auto [node, count] : llvm::enumerate(migration.getNodes()))
    nodeOf.append(count, node);
  for (ProgramOp program : migration.getOps<ProgramOp>())
    llvm::append_range(plan.participants, program.getDevices());
  llvm::sort(plan.participants);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static fb::OpKind kindOf(Operation *op) {
  if (isa<SendOp>(op))
    return fb::OpKind::send;
  if (isa<RecvOp>(op))
    return fb::OpKind::recv;
  if (isa<ReferOp>(op))
    return fb::OpKind::refer;
  if (isa<DeriveOp>(op))
    return fb::OpKind::derive;
  return isa<ZeroOp>(op) ? fb::OpKind::zero : fb::OpKind::release;
}

PlanExporter::NamedOps PlanExporter::findOps(ArrayAttr ids, ArrayAttr names,
                                             Reads reads) {
  auto [entry, isNew] =
      named.try_emplace(std::tuple(ids, names, static_cast<unsigned>(reads)));
  NamedOps &found = entry->second;
  if (!isNew)
    return found;
  found.first = namedOps.size();
  const llvm::SmallBitVector types = table.getTypes(names);
  const SmallVector<Piece> pieces = table.expand(ids, types);
  const bool areTied = llvm::any_of(pieces, [&](const Piece &piece) {
    return !table.getTwins(piece.tensor).empty();
  });
  for (const Piece &piece : pieces) {
    const uint32_t box = reads == Reads::Nothing ? 0 : tables.getBox(piece);
    for (unsigned type : types.set_bits()) {
      uint32_t tensor = tables.getTensor(piece, type), source = tensor;
      if (reads == Reads::DerivationSource)
        source = tables.getTensor(
            piece, *table.getDerivationSource(piece.tensor, type));
      namedOps.push_back(
          fb::Op(fb::OpKind::send, false, false, 0, tensor, source, box));
      if (areTied)
        tied[found.first].push_back(piece);
    }
  }
  found.count = namedOps.size() - found.first;
  return found;
}

/// The tensor that a device reads for one that may be tied.
uint32_t PlanExporter::sourceOf(int64_t device, const Piece &piece,
                                uint32_t tensor) {
  if (table.getTwins(piece.tensor).empty())
    return tensor;
  if (!before)
    before.emplace(Holdings(migration, table, Side::Prev), migration);
  const auto &[prev, devices] = *before;
  Piece source = piece;
  source.tensor = findRead(table, prev, devices.getPrevRole(device), piece);
  return tables.getTensor(source, tables.getType(tensor));
}

void PlanExporter::writeInstruction(InstructionOpInterface op) {
  const fb::OpKind kind = kindOf(op);
  uint32_t peer = 0;
  bool relays = false, transit = false;
  bool readsPrev = kind == fb::OpKind::refer;
  Value sender; // where it is another device
  if (auto transfer = dyn_cast<TransferOpInterface>(op.getOperation())) {
    peer = cast<BlockArgument>(transfer.getPeer()).getArgNumber() - 1;
    transit = transfer.getTransit();
    readsPrev = !transfer.getHop();
    if (kind == fb::OpKind::recv)
      sender = transfer.getPeer();
    relays = kind == fb::OpKind::send && !readsPrev && !transit;
  } else if (auto release = dyn_cast<ReleaseOp>(op.getOperation())) {
    transit = release.getTransit();
  }
  const Reads reads = kind == fb::OpKind::release  ? Reads::Nothing
                      : kind == fb::OpKind::derive ? Reads::DerivationSource
                                                   : Reads::Itself;
  const NamedOps found = findOps(op.getWid(), op.getWt(), reads);
  const auto pieces = readsPrev ? tied.find(found.first) : tied.end();
  const bool areTied = pieces != tied.end();
  int64_t reader = 0;
  if (areTied) {
    // What the devices of one transfer read is the same.
    auto program = op->getParentOfType<ProgramOp>();
    reader = program.getDevices(sender ? sender : program.getSelf()).front();
  }
  for (uint32_t i = 0; i != found.count; ++i) {
    const fb::Op &one = namedOps[found.first + i];
    ops.emplace_back(kind, relays, transit, peer, one.tensor(),
                     areTied ? sourceOf(reader, pieces->second[i], one.tensor())
                             : one.source(),
                     one.box());
  }
}

/// Both ends of a message list the same sequence, since both sort it.
void PlanExporter::writeRound(RoundOp op, fb::RoundT &round) {
  ops.clear();
  for (auto instruction : op.getBody().getOps<InstructionOpInterface>())
    writeInstruction(instruction);
  llvm::stable_sort(ops, [&](const fb::Op &a, const fb::Op &b) {
    // Only releases of one tensor may differ in the last.
    auto keyOf = [](const fb::Op &op) {
      return std::tuple(op.kind(), op.peer(), op.tensor(),
                        op.kind() == fb::OpKind::release && op.transit());
    };
    const auto aKey = keyOf(a), bKey = keyOf(b);
    return aKey != bKey ? aKey < bKey : boxOf(a) < boxOf(b);
  });
  // A shard of several boxes is released once.
  auto last =
      std::unique(ops.begin(), ops.end(), [](const fb::Op &a, const fb::Op &b) {
        return a.kind() == fb::OpKind::release && b.kind() == a.kind() &&
               b.tensor() == a.tensor() && b.transit() == a.transit();
      });
  round.ops.assign(ops.begin(), last);
}

/// What a program passes on is what it releases of it.
void PlanExporter::listTransit(ProgramOp program, fb::ProgramT &entry) {
  for (RoundOp round : program.getBody().getOps<RoundOp>())
    for (ReleaseOp release : round.getBody().getOps<ReleaseOp>())
      if (release.getTransit())
        shards.list(release.getWid(), release.getWt(), entry.transit_shards);
  if (!entry.transit_shards.empty())
    plan.features |= plan::kTransitFeature;
}

void PlanExporter::writeProgram(ProgramOp program) {
  auto entry = std::make_unique<fb::ProgramT>();
  entry->curr_role = roleOf(program.getCurr());
  entry->prev_role = roleOf(program.getPrev());
  entry->devices = toUnsigned(program.getDevices());
  for (BlockArgument peer : program.getBody().getArguments().drop_front()) {
    entry->peers.push_back(std::make_unique<fb::PeersT>());
    entry->peers.back()->devices = toUnsigned(program.getDevices(peer));
  }
  entry->prev_shards = shards.find(Side::Prev, program.getPrev());
  entry->curr_shards = shards.find(Side::Curr, program.getCurr());
  listTransit(program, *entry);
  for (RoundOp round : program.getBody().getOps<RoundOp>()) {
    while (entry->rounds.size() <= round.getIndex())
      entry->rounds.push_back(std::make_unique<fb::RoundT>());
    writeRound(round, *entry->rounds.back());
  }
  entry->send_slab = program.getSendSlab().value_or(0);
  entry->recv_slab = program.getRecvSlab().value_or(0);
  entry->peak = program.getPeak().value_or(0);
  entry->peak_safe = program.getPeakSafe().value_or(0);
  entry->tail_peak = program.getTailPeak().value_or(0);
  entry->tail_peak_safe = program.getTailPeakSafe().value_or(0);
  account(program, *entry);
  plan.programs.push_back(std::move(entry));
}

//===----------------------------------------------------------------------===//
// Summary
//===----------------------------------------------------------------------===//

uint64_t PlanExporter::bytesOf(const fb::Op &op) {
  return volume(boxOf(op)) * table.getTypeBytes(tables.getType(op.tensor()));
}

void PlanExporter::accountRound(ProgramOp program, const fb::RoundT &round,
                                fb::RoundForecast &forecast) {
  fb::SummaryT &summary = *plan.summary;
  uint64_t replicas = program.getDevices().size(), sentNow = 0, receivedNow = 0;
  SmallVector<uint64_t> fromPeer(program.getBindings().size());
  for (const fb::Op &op : round.ops) {
    if (op.kind() == fb::OpKind::release)
      continue;
    uint64_t bytes = bytesOf(op);
    bool isNeeded =
        op.kind() == fb::OpKind::recv || op.kind() == fb::OpKind::refer;
    if (isNeeded && !op.transit() && !plan.tensors[op.tensor()]->is_derived)
      needed += bytes * replicas;
    switch (op.kind()) {
    case fb::OpKind::send:
      sentNow += bytes;
      break;
    case fb::OpKind::recv:
      receivedNow += bytes;
      fromPeer[op.peer() + 1] += bytes;
      summary.transit_bytes += op.transit() ? bytes * replicas : 0;
      break;
    case fb::OpKind::refer:
      summary.kept_bytes += bytes * replicas;
      break;
    case fb::OpKind::derive:
      summary.derived_bytes += bytes * replicas;
      break;
    default:
      summary.zeroed_bytes += bytes * replicas;
    }
  }
  for (auto [argument, bytes] : llvm::enumerate(fromPeer))
    for (auto [self, peer] : llvm::zip_equal(
             program.getDevices(),
             program.getDevices(program.getBody().getArgument(argument))))
      summary.internode_bytes += nodeOf[self] != nodeOf[peer] ? bytes : 0;
  sent += sentNow;
  received += receivedNow;
  summary.moved_bytes += receivedNow * replicas;
  forecast.mutate_moved_bytes(forecast.moved_bytes() + receivedNow * replicas);
  forecast.mutate_max_port_bytes(
      std::max({forecast.max_port_bytes(), sentNow, receivedNow}));
}

void PlanExporter::account(ProgramOp program, const fb::ProgramT &entry) {
  sent = received = 0;
  for (auto [index, round] : llvm::enumerate(entry.rounds)) {
    if (plan.forecast.size() <= index)
      plan.forecast.emplace_back(0, 0);
    accountRound(program, *round, plan.forecast[index]);
  }
  fb::SummaryT &summary = *plan.summary;
  summary.max_send_bytes = std::max(summary.max_send_bytes, sent);
  summary.max_recv_bytes = std::max(summary.max_recv_bytes, received);
}

void PlanExporter::writePaperPolicy() {
  if (std::optional<Volumes> volumes = paperVolumes(migration)) {
    plan.summary->paper_policy = std::make_unique<fb::VolumesT>();
    plan.summary->paper_policy->moved_bytes = volumes->moved;
    plan.summary->paper_policy->internode_bytes = volumes->internode;
    plan.summary->paper_policy->max_recv_bytes = volumes->maxRecv;
  }
}

//===----------------------------------------------------------------------===//
// Referees
//===----------------------------------------------------------------------===//

LogicalResult PlanExporter::checkShards() {
  PlanShardsChecker checker(migration, table, tables, plan);
  for (auto [index, op] : llvm::enumerate(migration.getOps<ProgramOp>())) {
    ProgramOp program = op;
    for (auto [side, role, held] :
         {std::tuple(Side::Prev, program.getPrev(),
                     &plan.programs[index]->prev_shards),
          std::tuple(Side::Curr, program.getCurr(),
                     &plan.programs[index]->curr_shards)})
      if (!checker.areHeld(side, role, *held))
        return migration.emitError()
               << "internal error: program " << index
               << " does not hold what lib/Layout says on the "
               << stringifySide(side) << " side";
  }
  return success();
}

FailureOr<std::vector<uint8_t>> PlanExporter::run() {
  // Nothing leaves the compiler unproven.
  if (migration.getStage() != Stage::Proved)
    return migration.emitError() << "is no plan yet: the stage is '"
                                 << stringifyStage(migration.getStage())
                                 << "'; run the etc-plan pipeline first";
  plan.summary = std::make_unique<fb::SummaryT>();
  writeWorld(migration.getOnly<PlacementOp>());
  for (ProgramOp program : migration.getOps<ProgramOp>())
    writeProgram(program);
  // Their memory serves what follows.
  named = decltype(named)();
  namedOps = decltype(namedOps)();
  writeCertificates(migration, needed, plan);
  writePaperPolicy();
  plan.deferred_rounds = migration.countDeferredRounds();
  if (plan.deferred_rounds == 0) // of deferred types, nothing moves
    for (auto &program : plan.programs)
      program->tail_peak = program->tail_peak_safe = 0;
  plan.gradient_bytes = migration.getGradientBytes().value_or(0);
  if (failed(checkShards()))
    return failure();
  std::vector<uint8_t> bytes = plan::packPlan(std::move(plan));
  plan::Status status = plan::checkPlanBytes(bytes);
  if (status.ok()) {
    const plan::PlanIndex index(*fb::GetPlan(bytes.data()));
    status = plan::checkPlan(index);
    if (status.ok())
      status = verifyRelayBounds(index);
  }
  if (!status.ok())
    return migration.emitError()
           << "internal error: the referee refuses the plan: "
           << status.message();
  return bytes;
}

FailureOr<std::vector<uint8_t>> etc::exportPlan(MigrationOp migration) {
  return PlanExporter(migration).run();
}
