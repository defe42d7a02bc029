//===- VerifyPlan.cpp - Roles, pairing and certificate --------------------===//

#include "CheckCertificate.h"
#include "CheckPlace.h"
#include "PlanReplay.h"
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
  LogicalResult checkKept(CertificateOp certificate);
  bool mustReachBound();
  int64_t keptBytes(Level level);

  MigrationOp migration;
  TensorTable table;
  LayoutOracle oracle;
  SmallVector<ProgramOp> programs;
  std::vector<ProgramReplay> replays;
  llvm::DenseMap<int64_t, Seat> seats;
  SmallVector<int64_t> nodeOf;
  /// (program, argument, peer's program, peer's argument) already compared.
  std::set<std::array<unsigned, 4>> compared;
};

struct VerifyPlan : ::etc::impl::VerifyPlanPassBase<VerifyPlan> {
  LogicalResult runOnMigration(MigrationOp migration) override {
    markAllAnalysesPreserved();
    return PlanVerifier(migration).run();
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

/// The device of a rank has the role of that rank in its program.
LogicalResult PlanVerifier::checkRole(int64_t device, Side side,
                                      ParallelAttr parallel, int64_t rank) {
  RoleAttr expected = parallel.getRole(oracle.roleOfRank(parallel, rank));
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

/// The bytes that the programs keep on the device, or on the node, where relays
/// have brought none of them.
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

/// No plan keeps more than a certificate proves.
LogicalResult PlanVerifier::checkKept(CertificateOp certificate) {
  int64_t kept = certificate.getKept(),
          keptByPlan = keptBytes(certificate.getLevel());
  if (keptByPlan > kept)
    return certificate.emitError()
           << "proves that at most " << kept
           << " bytes are kept, the programs keep " << keptByPlan;
  if (mustReachBound() && certificate.getLevel() == Level::Device &&
      keptByPlan != kept)
    return certificate.emitError()
           << "proves " << kept << " bytes kept, the programs keep "
           << keptByPlan;
  return success();
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
  CertificateChecker checker(migration, table, oracle);
  for (CertificateOp certificate : migration.getOps<CertificateOp>())
    if (failed(checker.check(certificate)) || failed(checkKept(certificate)))
      return failure();
  return success();
}
