//===- VerifyPlan.cpp - Roles, pairing and certificate ------------------------===//

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
  LogicalResult checkRole(int64_t device, Side side, ParallelAttr parallel, int64_t rank);
  LogicalResult checkPairing();
  LogicalResult checkPair(unsigned program, unsigned argument, size_t replica);
  LogicalResult checkCertificate(CertificateOp certificate);
  void collectWeights(assignment::Problem &problem, CertificateOp certificate);

  MigrationOp migration;
  TensorTable table;
  LayoutOracle oracle;
  SmallVector<ProgramOp> programs;
  std::vector<ProgramReplay> replays;
  llvm::DenseMap<int64_t, Seat> seats;
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
    for (auto [replica, device] : llvm::enumerate(ProgramOp(program).getDevices()))
      if (!seats.try_emplace(device, Seat{static_cast<unsigned>(index), replica}).second)
        return program.emitError() << "device " << device << " has a program already";
  return success();
}

/// The device of a rank has the role of that rank in its program.
LogicalResult PlanVerifier::checkRole(int64_t device, Side side, ParallelAttr parallel,
                                      int64_t rank) {
  int64_t tp = parallel.getTp();
  auto expected = RoleAttr::get(migration.getContext(), rank / (tp * parallel.getDp()), rank % tp);
  auto seat = seats.find(device);
  if (seat == seats.end())
    return migration.emitError() << "device " << device << " of " << stringifySide(side)
                                 << " rank " << rank << " has no program";
  ProgramOp program = programs[seat->second.program];
  std::optional<RoleAttr> role = side == Side::Prev ? program.getPrev() : program.getCurr();
  if (role != expected)
    return program.emitError() << "device " << device << " is " << stringifySide(side) << " rank "
                               << rank << ", expected the role " << expected.str();
  return success();
}

LogicalResult PlanVerifier::checkRoles() {
  auto placement = migration.getOnly<PlacementOp>();
  if (!placement)
    return migration.emitError("has no placement");
  auto list = [](std::optional<ArrayRef<int64_t>> devices) {
    llvm::DenseSet<int64_t> set;
    set.insert_range(devices.value_or(ArrayRef<int64_t>()));
    return set;
  };
  llvm::DenseSet<int64_t> dead = list(migration.getFailed()), leaving = list(migration.getLeaving());
  for (auto [rank, device] : llvm::enumerate(placement.getDevices())) {
    if (dead.contains(device) || leaving.contains(device))
      return placement.emitError() << "gives current rank " << rank << " to device " << device
                                   << ", which is " << (dead.contains(device) ? "dead" : "leaving");
    if (failed(checkRole(device, Side::Curr, migration.getCurr(), rank)))
      return failure();
  }
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
             : migration.emitError("programs have devices with roles that no rank has");
}

//===----------------------------------------------------------------------===//
// Pairing
//===----------------------------------------------------------------------===//

LogicalResult PlanVerifier::checkPair(unsigned index, unsigned argument, size_t replica) {
  ProgramOp program = programs[index];
  int64_t device = program.getDevices()[replica];
  int64_t peer = program.getDevices(program.getBody().getArgument(argument))[replica];
  auto seat = seats.find(peer);
  if (seat == seats.end())
    return program.emitError() << "device " << device << " has peer " << peer
                               << ", which has no program";
  ProgramOp other = programs[seat->second.program];
  unsigned back = 0;
  for (unsigned candidate = 1; candidate < other.getBindings().size(); ++candidate)
    if (other.getDevices(other.getBody().getArgument(candidate))[seat->second.replica] == device)
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
                            << "device " << device << " sends " << sent.size() << " pieces to "
                            << peer << ", which does not receive the same " << received.size()
                            << " in the same rounds";
  diag.attachNote(other.getLoc()) << "the program of device " << peer;
  return diag;
}

LogicalResult PlanVerifier::checkPairing() {
  for (auto [index, program] : llvm::enumerate(programs))
    for (unsigned argument = 1; argument < ProgramOp(program).getBindings().size(); ++argument)
      for (size_t replica = 0; replica < ProgramOp(program).getDevices().size(); ++replica)
        if (failed(checkPair(index, argument, replica)))
          return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Certificate
//===----------------------------------------------------------------------===//

/// Bytes that every pair of roles shares, from lib/Layout.
void PlanVerifier::collectWeights(assignment::Problem &problem, CertificateOp certificate) {
  struct Holder {
    int32_t role;
    int64_t begin, end;
  };
  std::map<std::pair<unsigned, int64_t>, SmallVector<Holder>> holders;
  int64_t rows = migration.getCurr().getRoles(), columns = migration.getPrev().getRoles();
  problem.supply.assign(rows, migration.getCurr().getDp());
  problem.capacity.assign(certificate.getMembers().begin(), certificate.getMembers().end());
  for (int32_t column = 0; column < columns; ++column)
    for (const Piece &piece : oracle.holdings(Side::Prev, column))
      holders[{piece.tensor, piece.layer}].push_back({column, piece.begin, piece.end});
  for (int32_t row = 0; row < rows; ++row) {
    SmallVector<int64_t> shared(columns);
    for (const Piece &piece : oracle.holdings(Side::Curr, row))
      for (const Holder &holder : holders[{oracle.sourceOf(piece.tensor), piece.layer}])
        shared[holder.role] += std::max<int64_t>(0, std::min(piece.end, holder.end) -
                                                        std::max(piece.begin, holder.begin)) *
                               table.getElementsPerPosition(piece.tensor);
    for (int32_t column = 0; column < columns; ++column)
      if (shared[column])
        problem.edges.push_back({row, column, {0, shared[column] * table.getBytesPerElement()}});
  }
}

LogicalResult PlanVerifier::checkCertificate(CertificateOp certificate) {
  assignment::Problem problem;
  collectWeights(problem, certificate);
  auto weights = [](ArrayRef<int64_t> values) {
    return llvm::map_to_vector(values, [](int64_t value) { return assignment::Weight{0, value}; });
  };
  auto u = weights(certificate.getU()), v = weights(certificate.getV());
  int64_t kept = certificate.getKept();
  if (std::optional<std::string> error = assignment::verifyCertificate(
          problem, {0, kept}, {u.data(), u.size()}, {v.data(), v.size()}))
    return certificate.emitError() << "proves nothing: " << *error;
  int64_t keptByPlan = 0;
  for (auto [program, replay] : llvm::zip_equal(programs, replays))
    keptByPlan += replay.getKeptBytes() * ProgramOp(program).getDevices().size();
  bool mayKeepLess =
      migration.getCurrDevices().has_value() || migration.getPolicy() == Policy::Paper;
  if (keptByPlan > kept || (!mayKeepLess && keptByPlan != kept))
    return certificate.emitError() << "proves " << kept << " bytes kept, the programs keep "
                                   << keptByPlan;
  return success();
}

LogicalResult PlanVerifier::run() {
  if (failed(checkSeats()) || failed(checkRoles()))
    return failure();
  replays.reserve(programs.size());
  for (ProgramOp program : programs)
    if (failed(replays.emplace_back(program, table, oracle).run()))
      return failure();
  if (failed(checkPairing()))
    return failure();
  auto certificate = migration.getOnly<CertificateOp>();
  if (!certificate)
    return migration.emitError("has no certificate");
  return checkCertificate(certificate);
}
