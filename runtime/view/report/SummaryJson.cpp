#include "view/report/SummaryJson.h"

#include "core/plan/PeakRatios.h"
#include "core/plan/Relays.h"
#include "core/plan/TimeBound.h"
#include "view/simulate/PlanTime.h"

namespace fb = etc::plan::fb;
using Json = nlohmann::ordered_json;

Json etc::runtime::certificateJson(const fb::Certificate &certificate) {
  return {{"quantity", fb::EnumNameQuantity(certificate.quantity())},
          {"scope", fb::EnumNameScope(certificate.scope())},
          {"bytes", fb::EnumNameCounted(certificate.counted())},
          {"covers",
           {{"relays", certificate.covers_relays()},
            {"twins", certificate.covers_twins()},
            {"recomputation", certificate.covers_recomputation()}}},
          {"bound_bytes", certificate.bound()}};
}

Json etc::runtime::timeJson(const plan::PlanIndex &index) {
  const std::optional<PlanTime> time = timeOf(index);
  if (!time)
    return {};
  const fb::Resources &resources = *index.plan().resources();
  return {
      {"bound_s", time->boundSeconds},
      {"port_s", time->portSeconds},
      {"predicted_s", time->predictedSeconds},
      {"witness", etc::plan::describeBound(index, index.plan().time_bound())},
      {"roles_bound_s", time->roleBoundSeconds},
      {"roles_witness",
       etc::plan::describeRoleBound(index.plan().role_bound())},
      {"cluster", resources.name()->str()},
      {"assumed", resources.assumed()}};
}

Json etc::runtime::pauseJson(const plan::PlanIndex &index) {
  const std::optional<PlanTime> time = timeOf(index);
  if (!time || !etc::plan::defersState(index))
    return {};
  return {
      {"bound_s", time->pauseBoundSeconds},
      {"predicted_s", time->pauseSeconds},
      {"witness", etc::plan::describeBound(index, index.plan().pause_bound())},
      {"rounds", index.firstDeferredRound()}};
}

Json etc::runtime::summaryJson(const plan::PlanIndex &index) {
  const fb::Summary &s = *index.plan().summary();
  const etc::plan::PeakRatios ratios = etc::plan::peakRatios(index);
  Json paper;
  if (const fb::Volumes *volumes = s.paper_policy())
    paper = {{"moved_bytes", volumes->moved_bytes()},
             {"internode_bytes", volumes->internode_bytes()},
             {"max_recv_bytes", volumes->max_recv_bytes()}};
  return {{"moved_bytes", s.moved_bytes()},
          {"kept_bytes", s.kept_bytes()},
          {"zeroed_bytes", s.zeroed_bytes()},
          {"derived_bytes", s.derived_bytes()},
          {"internode_bytes", s.internode_bytes()},
          {"relayed_bytes", etc::plan::relayedBytes(index)},
          {"transit_bytes", s.transit_bytes()},
          {"max_send_bytes", s.max_send_bytes()},
          {"max_recv_bytes", s.max_recv_bytes()},
          {"rounds", index.plan().forecast()->size()},
          {"deferred_rounds", index.plan().deferred_rounds()},
          {"peak_ratio", ratios.peak},
          {"peak_ratio_safe", ratios.peakSafe},
          {"bound",
           {{"moved_bytes", s.bound_moved_bytes()},
            {"internode_bytes", s.bound_internode_bytes()},
            {"bottleneck_bytes", s.bound_bottleneck_bytes()}}},
          {"paper_policy", paper}};
}
