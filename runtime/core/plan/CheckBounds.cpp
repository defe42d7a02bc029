// R8: the bounds are what the certificates' duals add up to, and claim to
// cover no plan that could do with less. Whether duals suffice for what roles
// share is checked where bounds are shown (core/proof), not where plans run.

#include "core/plan/Certificates.h"
#include "core/plan/Configuration.h"
#include "core/plan/RefereeRules.h"
#include "core/plan/Relays.h"

#include <algorithm>

using namespace etc::plan;

namespace {

class BoundChecker {
public:
  explicit BoundChecker(const PlanIndex &index)
      : index(index), plan(index.plan()), needed(neededBytes(index)),
        hasRelays(relayedBytes(index) != 0) {}

  Status run() const;

private:
  Status check(const fb::Certificate &certificate) const;
  Status checkDuals(const fb::Certificate &certificate) const;
  Status checkCover(const fb::Certificate &certificate) const;
  Status checkSummary(fb::Quantity quantity, const char *name,
                      uint64_t stated) const;

  const PlanIndex &index;
  const fb::Plan &plan;
  const uint64_t needed;
  const bool hasRelays;
};

} // namespace

/// A tied copy that has holders of its own: bounds between nodes count it apart
/// from its twin.
static std::optional<uint32_t> findTwinApart(const PlanIndex &index) {
  for (const fb::Program *program : *index.plan().programs())
    for (uint32_t shard : *program->prev_shards()) {
      const uint32_t tensor = index.plan().shards()->Get(shard)->tensor();
      if (index.tensor(tensor).tied_to() >= 0)
        return tensor;
    }
  return std::nullopt;
}

/// A tied copy that a device needs beside a twin: it is counted to receive
/// both.
static std::optional<uint32_t> findNeededTwin(const PlanIndex &index) {
  std::vector<uint32_t> copies;
  for (uint32_t t = 0; t != index.plan().tensors()->size(); ++t)
    if (index.tensor(t).tied_to() >= 0)
      copies.push_back(t);
  for (uint32_t p = 0; p != index.programCount(); ++p)
    for (uint32_t copy : copies)
      if (index.find(p, Side::Curr, copy))
        for (uint32_t twin : copies)
          if (index.find(p, Side::Curr, index.primary(copy)) ||
              (twin != copy && index.primary(twin) == index.primary(copy) &&
               index.find(p, Side::Curr, twin)))
            return copy;
  return std::nullopt;
}

/// A tensor that moves although it could be cast.
static std::optional<uint32_t> findCast(const PlanIndex &index) {
  for (uint32_t t = 0; t != index.plan().tensors()->size(); ++t)
    if (index.tensor(t).derived_from() >= 0 && !index.tensor(t).is_derived())
      return t;
  return std::nullopt;
}

/// Nothing goes below 0, whatever a plan does.
Status BoundChecker::checkCover(const fb::Certificate &certificate) const {
  if (certificate.bound() == 0)
    return Status::success();
  if (certificate.covers_twins() &&
      certificate.quantity() == fb::Quantity::internode_bytes)
    if (auto tensor = findTwinApart(index))
      return malformed(".covers_twins: ", index.describeTensor(*tensor),
                       " has holders of its own, and counts apart");
  if (certificate.covers_twins())
    if (auto tensor = findNeededTwin(index))
      return malformed(".covers_twins: ", index.describeTensor(*tensor),
                       " is needed beside its twin, and counts apart");
  if (certificate.covers_recomputation())
    if (auto tensor = findCast(index))
      return malformed(".covers_recomputation: ", index.describeTensor(*tensor),
                       " could be cast, and counts");
  return Status::success();
}

/// The bound is what devices need without what duals allow to keep. Devices
/// that pass bytes on may bring some to a node once for many.
Status BoundChecker::checkDuals(const fb::Certificate &certificate) const {
  const bool isOfNodes =
      certificate.quantity() == fb::Quantity::internode_bytes;
  const Columns columns =
      isOfNodes ? columnsOfNodes(index) : columnsOfDevices(index);
  if (certificate.column_duals()->size() != columns.devices.size())
    return malformed(".column_duals: ", certificate.column_duals()->size(),
                     " entries, there are ", columns.devices.size(),
                     " classes of nodes");
  const uint64_t kept = keptAtMost(plan, certificate, columns);
  const uint64_t proved = needed > kept ? needed - kept : 0;
  const bool isRelayed = isOfNodes && certificate.covers_relays();
  const bool isProved =
      isRelayed ? certificate.bound() <= proved : certificate.bound() == proved;
  return isProved ? Status::success()
                  : malformed(".bound: is ", certificate.bound(),
                              ", the duals prove ", proved);
}

/// Duals are of all bytes that move, in the pause or after it.
Status BoundChecker::check(const fb::Certificate &certificate) const {
  if (certificate.counted() != fb::Counted::all)
    return malformed(".counted: is urgent, but duals count all bytes");
  if (Status s = checkDuals(certificate); !s.ok())
    return s;
  return checkCover(certificate);
}

/// The summary says what is proved, of which the plan is no counterexample.
Status BoundChecker::checkSummary(fb::Quantity quantity, const char *name,
                                  uint64_t stated) const {
  const fb::Certificate *certificate = findCertificate(plan, quantity);
  const uint64_t proved = certificate ? certificate->bound() : 0;
  if (stated != proved)
    return malformed("summary.", name, ": is ", stated, ", certificates prove ",
                     proved);
  if (certificate && hasRelays && !certificate->covers_relays())
    return malformed("summary.", name,
                     ": does not hold for plans with relays, of which this is "
                     "one");
  return Status::success();
}

Status BoundChecker::run() const {
  for (uint32_t i = 0; plan.certificates() && i != plan.certificates()->size();
       ++i)
    if (Status s = check(*plan.certificates()->Get(i)); !s.ok())
      return Status(s.kind(), text("certificates[", i, "]", s.message()));
  const fb::Summary &stated = *plan.summary();
  if (Status s = checkSummary(fb::Quantity::moved_bytes, "bound_moved_bytes",
                              stated.bound_moved_bytes());
      !s.ok())
    return s;
  if (Status s =
          checkSummary(fb::Quantity::internode_bytes, "bound_internode_bytes",
                       stated.bound_internode_bytes());
      !s.ok())
    return s;
  const uint64_t world = worldOf(*plan.curr()),
                 average = (stated.bound_moved_bytes() + world - 1) / world;
  if (stated.bound_bottleneck_bytes() == average)
    return Status::success();
  return malformed("summary.bound_bottleneck_bytes: is ",
                   stated.bound_bottleneck_bytes(),
                   ", the average of bound_moved_bytes is ", average);
}

Status etc::plan::checkBounds(const PlanIndex &index) {
  return BoundChecker(index).run();
}
