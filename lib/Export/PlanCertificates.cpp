//===- PlanCertificates.cpp - The certificates of a plan file -------------===//

#include "PlanCertificates.h"

#include "RelayBound.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace etc;
namespace fb = etc::plan::fb;

static bool isTied(const fb::PlanT &plan, uint32_t shard) {
  return plan.tensors[plan.shards[shard].tensor()]->tied_to >= 0;
}

static uint32_t primaryOf(const fb::PlanT &plan, uint32_t shard) {
  const uint32_t tensor = plan.shards[shard].tensor();
  return isTied(plan, shard) ? plan.tensors[tensor]->tied_to : tensor;
}

/// Whether a device needs two tensors of one content, which it is counted to
/// receive apart.
static bool needsTwins(const fb::PlanT &plan) {
  return llvm::any_of(plan.programs, [&](const auto &program) {
    // A device has one shard of a tensor, so that one of two twins is a copy.
    if (llvm::none_of(program->curr_shards,
                      [&](uint32_t shard) { return isTied(plan, shard); }))
      return false;
    llvm::DenseSet<uint32_t> seen;
    return llvm::any_of(program->curr_shards, [&](uint32_t shard) {
      return !seen.insert(primaryOf(plan, shard)).second;
    });
  });
}

/// Whether a tied copy has holders of its own: what enters a node of it then
/// counts apart from what enters of its twin.
static bool hasTwinsApart(const fb::PlanT &plan) {
  for (const auto &program : plan.programs)
    for (uint32_t shard : program->prev_shards)
      if (isTied(plan, shard))
        return true;
  return false;
}

/// Whether a tensor moves that could be cast.
static bool movesCasts(const fb::PlanT &plan) {
  return llvm::any_of(plan.tensors, [](const auto &tensor) {
    return tensor->derived_from >= 0 && !tensor->is_derived;
  });
}

static std::vector<uint64_t> dualsOf(llvm::ArrayRef<int64_t> duals) {
  return {duals.begin(), duals.end()};
}

/// What the certificate proves of all assignments of roles. Devices get the
/// same bytes with relays as without; relays only bring them to a node once.
static std::unique_ptr<fb::CertificateT>
certificateOf(CertificateOp op, uint64_t needed, const fb::PlanT &plan) {
  auto certificate = std::make_unique<fb::CertificateT>();
  const bool isOfDevices = op.getLevel() == Level::Device;
  certificate->quantity =
      isOfDevices ? fb::Quantity::moved_bytes : fb::Quantity::internode_bytes;
  certificate->scope = fb::Scope::allowed_roles;
  certificate->counted = fb::Counted::all;
  certificate->bound = needed - op.getKept();
  certificate->row_duals = dualsOf(op.getU());
  certificate->column_duals = dualsOf(op.getV());
  certificate->covers_relays = true;
  if (!isOfDevices)
    certificate->bound = boundWithRelays(plan, certificate->bound);
  // Nothing undercuts zero.
  const bool isZero = certificate->bound == 0;
  certificate->covers_twins =
      isZero || (!needsTwins(plan) && (isOfDevices || !hasTwinsApart(plan)));
  certificate->covers_recomputation = isZero || !movesCasts(plan);
  return certificate;
}

void etc::writeCertificates(MigrationOp migration, uint64_t needed,
                            fb::PlanT &plan) {
  std::vector<uint32_t> barred;
  for (auto list : {migration.getFailed(), migration.getDraining()})
    llvm::append_range(barred, list.value_or(llvm::ArrayRef<int64_t>()));
  llvm::sort(barred);
  barred.erase(llvm::unique(barred), barred.end());
  plan.barred = std::move(barred);
  fb::SummaryT &summary = *plan.summary;
  for (CertificateOp op : migration.getOps<CertificateOp>()) {
    plan.certificates.push_back(certificateOf(op, needed, plan));
    (op.getLevel() == Level::Device ? summary.bound_moved_bytes
                                    : summary.bound_internode_bytes) =
        plan.certificates.back()->bound;
  }
  summary.bound_bottleneck_bytes = llvm::divideCeil(
      summary.bound_moved_bytes, migration.getCurr().getWorld());
}
