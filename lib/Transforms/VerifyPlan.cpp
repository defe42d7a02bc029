//===- VerifyPlan.cpp - Roles, pairing and certificate --------------------===//

#include "CheckPlace.h"
#include "PlanReplay.h"
#include "etc/Assignment/Solution.h"
#include "etc/Transforms/Passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <set>

namespace etc {
#define GEN_PASS_DEF_VERIFYPLANPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
/// Where a device appears: its program and its replica there.
struct Seat {
  unsigned program;
  size_t replica;
};

class PlanVerifier {
public:
  explicit PlanVerifier(MigrationOp migration)
      : migration(migration), table(migration), oracle(migration, table),
        programs(llvm::to_vector(migration.getOps<ProgramOp>())) {}

  LogicalResult run();

private:
  LogicalResult checkSeats();
  LogicalResult checkRoles();
  LogicalResult checkRole(int64_t device, Side side, ParallelAttr parallel,
                          int64_t rank);
  LogicalResult checkPairing();
  LogicalResult checkPair(unsigned program, unsigned argument, size_t replica);
  LogicalResult checkCertificate(CertificateOp certificate);
  bool mustReachBound();
  LogicalResult checkMembers(CertificateOp certificate);
  SmallVector<SmallVector<int64_t>> columnsOf(Level level);
  SmallVector<std::set<int64_t>> rolesOnNodes();
  SmallVector<int64_t> worthOf(int64_t row,
                               ArrayRef<SmallVector<int64_t>> columns) const;
  int64_t keptBytes(Level level);

  MigrationOp migration;
  TensorTable table;
  LayoutOracle oracle;
  SmallVector<ProgramOp> programs;
  std::vector<ProgramReplay> replays;
  llvm::DenseMap<int64_t, Seat> seats;
  SmallVector<int64_t> nodeOf;
  /// What every previous role holds, sorted.
  std::vector<SmallVector<Piece, 0>> held;
  /// (program, argument, peer's program, peer's argument) already compared.
  std::set<std::array<unsigned, 4>> compared;
};

struct VerifyPlan : ::etc::impl::VerifyPlanPassBase<VerifyPlan> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(PlanVerifier(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

LogicalResult PlanVerifier::checkSeats() {
  for (auto [index, program] : llvm::enumerate(programs))
    for (auto [replica, device] :
         llvm::enumerate(ProgramOp(program).getDevices()))
      if (!seats
               .try_emplace(device, Seat{static_cast<unsigned>(index), replica})
               .second)
        return program.emitError()
               << "device " << device << " has a program already";
  return success();
}

/// The number of a rank's role, by Megatron's rank order.
static int64_t roleOfRank(ParallelAttr parallel, int64_t rank) {
  int64_t group = parallel.getTp() * parallel.getCp(), inner = rank % group,
          outer = rank / group, stage, replica;
  if (parallel.getPpBeforeDp())
    std::tie(stage, replica) =
        std::pair(outer % parallel.getPp(), outer / parallel.getPp());
  else
    std::tie(stage, replica) =
        std::pair(outer / parallel.getDp(), outer % parallel.getDp());
  int64_t number = inner + group * replica, slots = parallel.getSlots();
  return parallel.getRoleIndex(
      RoleAttr::get(parallel.getContext(), stage, number % slots,
                    parallel.getZero1() ? number / slots : -1));
}

/// The device of a rank has the role of that rank in its program.
LogicalResult PlanVerifier::checkRole(int64_t device, Side side,
                                      ParallelAttr parallel, int64_t rank) {
  RoleAttr expected = parallel.getRole(roleOfRank(parallel, rank));
  auto seat = seats.find(device);
  if (seat == seats.end())
    return migration.emitError()
           << "device " << device << " of " << stringifySide(side) << " rank "
           << rank << " has no program";
  ProgramOp program = programs[seat->second.program];
  std::optional<RoleAttr> role =
      side == Side::Prev ? program.getPrev() : program.getCurr();
  if (role != expected)
    return program.emitError()
           << "device " << device << " is " << stringifySide(side) << " rank "
           << rank << ", expected the role " << expected.str();
  return success();
}

LogicalResult PlanVerifier::checkRoles() {
  auto placement = migration.getOnly<PlacementOp>();
  if (!placement)
    return migration.emitError("has no placement");
  if (auto fixed = migration.getCurrDevices();
      fixed && *fixed != placement.getDevices())
    return placement.emitError("is not the one that the request fixes");
  auto list = [](std::optional<ArrayRef<int64_t>> devices) {
    llvm::DenseSet<int64_t> set;
    set.insert_range(devices.value_or(ArrayRef<int64_t>()));
    return set;
  };
  llvm::DenseSet<int64_t> dead = list(migration.getFailed()),
                          leaving = list(migration.getLeaving());
  for (auto [rank, device] : llvm::enumerate(placement.getDevices())) {
    if (dead.contains(device) || leaving.contains(device))
      return placement.emitError()
             << "gives current rank " << rank << " to device " << device
             << ", which is " << (dead.contains(device) ? "dead" : "leaving");
    if (failed(checkRole(device, Side::Curr, migration.getCurr(), rank)))
      return failure();
  }
  if (failed(checkPlace(migration, placement)))
    return failure();
  size_t holders = 0, takers = placement.getDevices().size();
  for (auto [rank, device] : llvm::enumerate(migration.getPrevPlacement())) {
    if (dead.contains(device))
      continue;
    ++holders;
    if (failed(checkRole(device, Side::Prev, migration.getPrev(), rank)))
      return failure();
  }
  for (ProgramOp program : programs) {
    holders -= program.getPrev() ? program.getDevices().size() : 0;
    takers -= program.getCurr() ? program.getDevices().size() : 0;
  }
  return holders == 0 && takers == 0
             ? success()
             : migration.emitError(
                   "programs have devices with roles that no rank has");
}

//===----------------------------------------------------------------------===//
// Pairing
//===----------------------------------------------------------------------===//

LogicalResult PlanVerifier::checkPair(unsigned index, unsigned argument,
                                      size_t replica) {
  ProgramOp program = programs[index];
  int64_t device = program.getDevices()[replica];
  int64_t peer =
      program.getDevices(program.getBody().getArgument(argument))[replica];
  auto seat = seats.find(peer);
  if (seat == seats.end())
    return program.emitError() << "device " << device << " has peer " << peer
                               << ", which has no program";
  ProgramOp other = programs[seat->second.program];
  unsigned back = 0;
  for (unsigned candidate = 1; candidate < other.getBindings().size();
       ++candidate)
    if (other.getDevices(other.getBody().getArgument(
            candidate))[seat->second.replica] == device)
      back = candidate;
  if (back == 0)
    return program.emitError() << "device " << device << " has peer " << peer
                               << ", which does not know it";
  if (!compared.insert({index, argument, seat->second.program, back}).second)
    return success();
  ArrayRef<Message> sent = replays[index].getSends(argument);
  ArrayRef<Message> received = replays[seat->second.program].getRecvs(back);
  if (sent == received)
    return success();
  InFlightDiagnostic diag = program.emitError()
                            << "device " << device << " sends " << sent.size()
                            << " pieces to " << peer
                            << ", which does not receive the same "
                            << received.size() << " in the same rounds";
  diag.attachNote(other.getLoc()) << "the program of device " << peer;
  return diag;
}

LogicalResult PlanVerifier::checkPairing() {
  for (auto [index, program] : llvm::enumerate(programs))
    for (unsigned argument = 1;
         argument < ProgramOp(program).getBindings().size(); ++argument)
      for (size_t replica = 0; replica < ProgramOp(program).getDevices().size();
           ++replica)
        if (failed(checkPair(index, argument, replica)))
          return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Certificates
//===----------------------------------------------------------------------===//

/// The columns of a certificate, as the previous roles that each one's devices
/// can reach: one role a column at the device level, all roles of a node at the
/// node level.
SmallVector<SmallVector<int64_t>> PlanVerifier::columnsOf(Level level) {
  SmallVector<SmallVector<int64_t>> columns;
  if (level == Level::Device) {
    for (int64_t role = 0; role < migration.getPrev().getRoles(); ++role)
      columns.push_back({role});
    return columns;
  }
  for (const std::set<int64_t> &roles : rolesOnNodes()) {
    SmallVector<int64_t> column(roles.begin(), roles.end());
    if (!llvm::is_contained(columns, column))
      columns.push_back(column);
  }
  return columns;
}

/// The previous roles that the living devices of every node hold.
SmallVector<std::set<int64_t>> PlanVerifier::rolesOnNodes() {
  SmallVector<std::set<int64_t>> roles(migration.getNodes().size());
  for (ProgramOp program : programs)
    if (std::optional<RoleAttr> prev = program.getPrev())
      for (int64_t device : program.getDevices())
        roles[nodeOf[device]].insert(migration.getPrev().getRoleIndex(*prev));
  return roles;
}

/// Elements of a piece that at least one of several roles holds.
static int64_t heldElements(const Piece &piece,
                            ArrayRef<const SmallVector<Piece, 0> *> holders) {
  SmallVector<Piece> rest = {piece};
  Piece key{piece.tensor, piece.layer, piece.expert, {}, {}, {}};
  for (const SmallVector<Piece, 0> *held : holders)
    for (auto it = llvm::lower_bound(*held, key);
         it != held->end() && it->isOfSame(key) && !rest.empty(); ++it) {
      SmallVector<Piece> next;
      for (const Piece &part : rest)
        llvm::append_range(next, subtract(part, *it));
      rest = std::move(next);
    }
  int64_t left = 0;
  for (const Piece &part : rest)
    left += part.size();
  return piece.size() - left;
}

/// What a current role on each column is worth, from lib/Layout.
SmallVector<int64_t>
PlanVerifier::worthOf(int64_t row,
                      ArrayRef<SmallVector<int64_t>> columns) const {
  SmallVector<SmallVector<const SmallVector<Piece, 0> *>> holders;
  for (ArrayRef<int64_t> roles : columns)
    holders.push_back(
        llvm::map_to_vector(roles, [&](int64_t role) { return &held[role]; }));
  SmallVector<int64_t> worth(columns.size());
  for (Piece piece : oracle.holdings(Side::Curr, row)) {
    int64_t bytes = table.getMovedBytes(piece) / piece.size();
    piece.tensor = oracle.sourceOf(piece.tensor);
    for (auto [value, list] : llvm::zip_equal(worth, holders))
      value += heldElements(piece, list) * bytes;
  }
  return worth;
}

/// The bytes that the programs keep on the device, or on the node.
int64_t PlanVerifier::keptBytes(Level level) {
  int64_t kept = 0;
  for (auto [program, replay] : llvm::zip_equal(programs, replays)) {
    ProgramOp op = program;
    kept += replay.getKeptBytes() * op.getDevices().size();
    if (level == Level::Device)
      continue;
    for (BlockArgument peer : op.getBody().getArguments().drop_front()) {
      int64_t bytes = replay.getReceivedBytes(peer.getArgNumber());
      for (auto [self, other] :
           llvm::zip_equal(op.getDevices(), op.getDevices(peer)))
        kept += nodeOf[self] == nodeOf[other] ? bytes : 0;
    }
  }
  return kept;
}

/// On one node nothing but the bytes decides where roles go, unless the request
/// or the paper's method does: the plan is then the optimum.
bool PlanVerifier::mustReachBound() {
  return migration.getNodes().size() == 1 && !migration.getCurrDevices() &&
         migration.getPolicy() != Policy::Paper;
}

LogicalResult PlanVerifier::checkCertificate(CertificateOp certificate) {
  SmallVector<SmallVector<int64_t>> columns = columnsOf(certificate.getLevel());
  if (columns.size() != certificate.getV().size())
    return certificate.emitError() << "has " << certificate.getV().size()
                                   << " columns, expected " << columns.size();
  assignment::Problem problem;
  problem.supply.assign(migration.getCurr().getRoles(),
                        migration.getCurr().getRoleReplicas());
  problem.capacity.assign(certificate.getMembers().begin(),
                          certificate.getMembers().end());
  for (int32_t row = 0; row < migration.getCurr().getRoles(); ++row)
    for (auto [column, worth] : llvm::enumerate(worthOf(row, columns)))
      if (worth)
        problem.edges.push_back(
            {row, static_cast<int32_t>(column), {0, worth}});
  auto weights = [](ArrayRef<int64_t> values) {
    return llvm::map_to_vector(values, [](int64_t value) {
      return assignment::Weight{0, value};
    });
  };
  auto u = weights(certificate.getU()), v = weights(certificate.getV());
  int64_t kept = certificate.getKept();
  if (std::optional<std::string> error = assignment::verifyCertificate(
          problem, {0, kept}, {u.data(), u.size()}, {v.data(), v.size()}))
    return certificate.emitError() << "proves nothing: " << *error;
  int64_t keptByPlan = keptBytes(certificate.getLevel());
  if (keptByPlan > kept)
    return certificate.emitError()
           << "proves that at most " << kept
           << " bytes are kept, the programs keep " << keptByPlan;
  if (mustReachBound() && keptByPlan != kept)
    return certificate.emitError()
           << "proves " << kept << " bytes kept, the programs keep "
           << keptByPlan;
  return success();
}

/// The members of a column are the devices that may take a role there: a
/// certificate that leaves some out proves less.
LogicalResult PlanVerifier::checkMembers(CertificateOp certificate) {
  llvm::DenseSet<int64_t> unusable;
  for (auto list : {migration.getFailed(), migration.getLeaving()})
    unusable.insert_range(list.value_or(ArrayRef<int64_t>()));
  SmallVector<SmallVector<int64_t>> columns = columnsOf(certificate.getLevel());
  SmallVector<std::set<int64_t>> onNodes = rolesOnNodes();
  SmallVector<int64_t> members(columns.size());
  auto count = [&](const SmallVector<int64_t> &column) {
    ++members[llvm::find(columns, column) - columns.begin()];
  };
  if (certificate.getLevel() == Level::Node) {
    for (int64_t device = 0; device < migration.getDeviceCount(); ++device)
      if (!unusable.contains(device))
        count(llvm::to_vector(onNodes[nodeOf[device]]));
  } else {
    for (auto [rank, device] : llvm::enumerate(migration.getPrevPlacement()))
      if (!unusable.contains(device))
        count({roleOfRank(migration.getPrev(), rank)});
  }
  if (ArrayRef<int64_t>(members) == certificate.getMembers())
    return success();
  return certificate.emitError(
      "does not count the devices that may take a role");
}

LogicalResult PlanVerifier::run() {
  for (auto [node, count] : llvm::enumerate(migration.getNodes()))
    nodeOf.append(count, node);
  if (failed(checkSeats()) || failed(checkRoles()))
    return failure();
  replays.reserve(programs.size());
  for (ProgramOp program : programs)
    if (failed(replays.emplace_back(program, table, oracle).run()))
      return failure();
  if (failed(checkPairing()))
    return failure();
  for (const ProgramReplay &replay : replays)
    if (failed(replay.checkZeroes()))
      return failure();
  for (int64_t role = 0; role < migration.getPrev().getRoles(); ++role)
    held.push_back(oracle.holdings(Side::Prev, role));
  for (Level level : {Level::Device, Level::Node})
    if (llvm::none_of(migration.getOps<CertificateOp>(),
                      [&](CertificateOp op) { return op.getLevel() == level; }))
      return migration.emitError() << "has no certificate for the "
                                   << stringifyLevel(level) << " level";
  for (CertificateOp certificate : migration.getOps<CertificateOp>())
    if (failed(checkCertificate(certificate)) ||
        failed(checkMembers(certificate)))
      return failure();
  return success();
}
