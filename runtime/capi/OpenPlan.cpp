#include "capi/OpenPlan.h"

#include "core/plan/Configuration.h"
#include "core/plan/Referee.h"
#include "core/plan/TimeBound.h"
#include "core/proof/PlanCertificates.h"

#include <algorithm>
#include <cstring>

using namespace etc::runtime;

Result<std::shared_ptr<const OpenPlan>>
OpenPlan::check(std::shared_ptr<OpenPlan> plan) {
  plan->index_.emplace(plan->file->plan());
  if (Status s = etc::plan::checkPlan(*plan->index_, plan->file->lane());
      !s.ok())
    return s;
  plan->prevLabel = etc::plan::describe(*plan->plan().prev());
  plan->currLabel = etc::plan::describe(*plan->plan().curr());
  plan->witness_ =
      etc::plan::describeBound(*plan->index_, plan->plan().time_bound());
  plan->rolesWitness_ = etc::plan::describeRoleBound(plan->plan().role_bound());
  return std::shared_ptr<const OpenPlan>(std::move(plan));
}

Result<std::shared_ptr<const OpenPlan>>
OpenPlan::open(const std::string &path) {
  Result<etc::plan::PlanFile> file = etc::plan::PlanFile::open(path);
  if (!file)
    return file.status();
  auto plan = std::make_shared<OpenPlan>();
  plan->file = std::move(*file);
  Result<std::shared_ptr<const OpenPlan>> checked = check(std::move(plan));
  return checked ? checked : checked.status().at(path);
}

Result<std::shared_ptr<const OpenPlan>>
OpenPlan::copy(std::span<const uint8_t> bytes) {
  auto plan = std::make_shared<OpenPlan>();
  plan->copied.resize((bytes.size() + 7) / 8);
  std::memcpy(plan->copied.data(), bytes.data(), bytes.size());
  Result<etc::plan::PlanFile> file = etc::plan::PlanFile::read(
      {reinterpret_cast<const uint8_t *>(plan->copied.data()), bytes.size()});
  if (!file)
    return file.status();
  plan->file = std::move(*file);
  return check(std::move(plan));
}

const std::optional<PlanTime> &OpenPlan::time() const {
  std::call_once(timed, [this] { time_ = timeOf(*index_); });
  return time_;
}

const Status &OpenPlan::proof() const {
  std::call_once(proved, [this] {
    if (!plan().slice()) // which has no certificates
      proof_ = etc::verifyCertificates(*index_);
  });
  return proof_;
}

const etc::plan::FingerprintTree &OpenPlan::tree() const {
  std::call_once(hashed, [this] { tree_.emplace(*index_); });
  return *tree_;
}

static uint64_t heldBytes(const PlanIndex &index, uint32_t program, Side side) {
  uint64_t bytes = 0;
  for (Holding holding : index.holdings(program, side))
    bytes = etc::plan::addBytes(bytes, index.shardBytes(holding.shard));
  return bytes;
}

std::pair<uint64_t, uint64_t> etc::runtime::peakRatios(const PlanIndex &index) {
  constexpr unsigned __int128 scale = 10000;
  uint64_t eager = 0, safe = 0;
  for (uint32_t program = 0; program != index.programCount(); ++program) {
    const uint64_t state = std::max(heldBytes(index, program, Side::Prev),
                                    heldBytes(index, program, Side::Curr));
    if (state == 0)
      continue;
    auto ratio = [&](uint64_t peak) {
      return static_cast<uint64_t>((peak * scale + state - 1) / state);
    };
    eager = std::max(eager, ratio(index.program(program).peak()));
    safe = std::max(safe, ratio(index.program(program).peak_safe()));
  }
  return {eager, safe};
}
