//===- CheckOptimality.cpp - V11: the plan against its certificates -------===//

#include "Rules.h"

using namespace etc;
using namespace mlir;

/// Bytes of all rounds that one peer held before the migration.
static int64_t receivedBytes(const TensorTable &table,
                             ArrayRef<Message> messages) {
  int64_t bytes = 0;
  for (const Message &message : messages)
    if (message.hop == 0)
      bytes += message.piece->size() * table.getTypeBytes(message.type);
  return bytes;
}

/// The bytes that the programs keep on the device, or on the node, where relays
/// have brought none of them. What is passed on is not kept.
static int64_t keptBytes(const PlanUnderTest &plan,
                         ArrayRef<Exchanges> exchanges, Level level) {
  int64_t kept = 0;
  for (auto [op, exchange] : llvm::zip_equal(plan.programs, exchanges)) {
    ProgramOp program = op;
    kept += exchange.keptBytes * program.getDevices().size();
    if (level == Level::Device)
      continue;
    for (BlockArgument peer : program.getBody().getArguments().drop_front()) {
      const int64_t bytes =
          receivedBytes(plan.table, exchange.recvs[peer.getArgNumber()]) -
          exchange.passedBytes[peer.getArgNumber()];
      for (auto [self, other] :
           llvm::zip_equal(program.getDevices(), program.getDevices(peer)))
        kept += plan.nodeOf[self] == plan.nodeOf[other] ? bytes : 0;
    }
  }
  return kept;
}

/// On one node nothing but the bytes decides where roles go, unless the request
/// or the paper's method does: the plan is then the optimum.
static bool mustReachBound(MigrationOp migration) {
  return migration.getNodes().size() == 1 && !migration.getCurrDevices() &&
         migration.getPolicy() != Policy::Paper;
}

LogicalResult etc::checkOptimality(const PlanUnderTest &plan,
                                   ArrayRef<Exchanges> exchanges) {
  for (CertificateOp certificate : plan.migration.getOps<CertificateOp>()) {
    const int64_t bound = certificate.getKept(),
                  kept = keptBytes(plan, exchanges, certificate.getLevel());
    if (kept > bound)
      return Refusal(certificate, Rule::Optimality)
             << "proves that at most " << bound
             << " bytes are kept, the programs keep " << kept;
    if (certificate.getLevel() == Level::Device && kept != bound &&
        mustReachBound(plan.migration))
      return Refusal(certificate, Rule::Optimality)
             << "proves " << bound << " bytes kept, the programs keep " << kept;
  }
  return success();
}
