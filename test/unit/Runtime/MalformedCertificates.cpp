// Certificates that prove something else than they state, and what they need.

#include "MalformedPlans.h"

namespace etc::plan::test {

/// A plan that states rates, and a bound of device 0.
static fb::PlanT timedPlan() {
  fb::PlanT plan = twoStagePlan();
  plan.resources = std::make_unique<fb::ResourcesT>();
  plan.resources->name = "two links";
  plan.resources->link_rate = plan.resources->nic_rate = 1000;
  plan.resources->pack_rate = 1000;
  plan.time_bound = std::make_unique<fb::TimeBoundT>();
  plan.time_bound->devices = {0};
  plan.time_bound->bytes = 16;
  plan.time_bound->rate = 1000;
  plan.role_bound = std::make_unique<fb::RoleBoundT>();
  plan.role_bound->inside = {0};
  plan.role_bound->bytes = 8;
  plan.role_bound->rate = 1000;
  return plan;
}

/// Its bound is of two devices, one of them an inner one.
static fb::PlanT innerPlan() {
  fb::PlanT plan = timedPlan();
  plan.time_bound->devices = {0, 1};
  plan.time_bound->inner = {1};
  plan.features = kInnerFeature;
  return plan;
}

/// Its bound has tolls, of a cluster whose devices share a NIC.
static fb::PlanT tollsPlan() {
  fb::PlanT plan = timedPlan();
  plan.time_bound->devices.clear();
  plan.time_bound->tolls = std::make_unique<fb::TollsT>();
  plan.time_bound->tolls->links_in = {1, 2};
  plan.time_bound->tolls->nics_out = {0};
  plan.resources->nics = 1;
  plan.nodes = {4};
  plan.features = kTollsFeature;
  return plan;
}

const std::vector<MalformedPlan> kMalformedCertificates = {
    {"RateOfZero", timedPlan, [](fb::PlanT &p) { p.resources->nic_rate = 0; },
     "resources.nic_rate: 0 is not in [1, 1125899906842624]"},
    {"NoNics", timedPlan, [](fb::PlanT &p) { p.resources->nics = 0; },
     "resources.nics: 0 is not in [1, 1048576]"},
    {"AllAcknowledgements", timedPlan,
     [](fb::PlanT &p) { p.resources->acknowledgements = 1000000; },
     "resources.acknowledgements: 1000000 is not in [0, 999999]"},
    {"BoundWithoutResources", timedPlan,
     [](fb::PlanT &p) { p.resources.reset(); },
     "time_bound: the plan has no resources"},
    {"BoundOfNobody", timedPlan,
     [](fb::PlanT &p) { p.time_bound->devices.clear(); },
     "time_bound.devices: at least one is needed"},
    {"BoundOutsideOfTheCluster", timedPlan,
     [](fb::PlanT &p) {
       p.time_bound->devices = {0, 99};
     },
     "time_bound.devices[1]: 99 is not in [0, 4)"},
    {"BoundWithoutRate", timedPlan,
     [](fb::PlanT &p) { p.time_bound->rate = 0; },
     "time_bound.rate: 0 is not in [1, 9223372036854775806]"},
    {"InnerUnannounced", innerPlan, [](fb::PlanT &p) { p.features = 0; },
     "features: a plan whose bounds of time have inner devices has flag 32, "
     "and no other"},
    {"InnerAnnouncedOnly", innerPlan,
     [](fb::PlanT &p) { p.time_bound->inner.clear(); },
     "features: a plan whose bounds of time have inner devices has flag 32, "
     "and no other"},
    {"InnerTwice", innerPlan,
     [](fb::PlanT &p) {
       p.time_bound->inner = {1, 1};
     },
     "time_bound.inner[1]: 1 after 1, devices ascend"},
    {"InnerOutside", innerPlan,
     [](fb::PlanT &p) {
       p.time_bound->inner = {1, 2};
     },
     "time_bound.inner: some are not in devices"},
    {"TollsUnannounced", tollsPlan, [](fb::PlanT &p) { p.features = 0; },
     "features: a plan whose bounds of time have tolls has flag 256, and no "
     "other"},
    {"TollsAnnouncedOnly", timedPlan,
     [](fb::PlanT &p) { p.features = kTollsFeature; },
     "features: a plan whose bounds of time have tolls has flag 256, and no "
     "other"},
    {"TollsOfNobody", tollsPlan,
     [](fb::PlanT &p) { p.time_bound->tolls = std::make_unique<fb::TollsT>(); },
     "time_bound.tolls: at least one is needed"},
    {"TollsBesideDevices", tollsPlan,
     [](fb::PlanT &p) { p.time_bound->devices = {0}; },
     "time_bound.devices: a bound with tolls has none"},
    {"TollsTwice", tollsPlan,
     [](fb::PlanT &p) {
       p.time_bound->tolls->links_in = {1, 1};
     },
     "time_bound.tolls.links_in[1]: 1 after 1, devices ascend"},
    {"TollsOutsideOfTheCluster", tollsPlan,
     [](fb::PlanT &p) {
       p.time_bound->tolls->links_out = {3, 4};
     },
     "time_bound.tolls.links_out[1]: 4 is not in [0, 4)"},
    {"TollsOfNicNamedTwice", tollsPlan,
     [](fb::PlanT &p) {
       p.time_bound->tolls->nics_out = {0, 2};
     },
     "time_bound.tolls.nics_out[1]: device 2 is not the first that has its "
     "NIC"},
    {"TollsWithoutBytes", tollsPlan,
     [](fb::PlanT &p) { p.time_bound->bytes = 0; },
     "time_bound.bytes: 0 is not in [1, 9223372036854775807]"},
    {"RoleBoundWithoutResources", timedPlan,
     [](fb::PlanT &p) {
       p.time_bound.reset();
       p.resources.reset();
     },
     "role_bound: the plan has no resources"},
    {"RoleBoundOfNothing", timedPlan,
     [](fb::PlanT &p) { p.role_bound->inside.clear(); },
     "role_bound.inside: at least one is needed"},
    {"RoleBoundOutsideOfTheCluster", timedPlan,
     [](fb::PlanT &p) {
       p.role_bound->inside = {0, 99};
     },
     "role_bound.inside[1]: 99 is not in [0, 4)"},
    {"RoleBoundWithoutRate", timedPlan,
     [](fb::PlanT &p) { p.role_bound->rate = 0; },
     "role_bound.rate: 0 is not in [1, 9223372036854775806]"},
    {"RoleBoundOfUnknownKind", timedPlan,
     [](fb::PlanT &p) { p.role_bound->witness = fb::RoleWitness(9); },
     "role_bound.witness: 9 is not one of each, others, fewest"},
    {"RoleBoundOfUnknownPlace", timedPlan,
     [](fb::PlanT &p) { p.role_bound->place = fb::Place(3); },
     "role_bound.place: 3 is not one of pack, tp, any"},
    {"BoundWithoutCertificate", twoStagePlan,
     [](fb::PlanT &p) { p.summary->bound_moved_bytes = 144; },
     "summary.bound_moved_bytes: is 144, certificates prove 0"},
    {"BoundNotOfCertificate", certifiedPlan,
     [](fb::PlanT &p) { p.summary->bound_internode_bytes = 160; },
     "summary.bound_internode_bytes: is 160, certificates prove 144"},
    {"BottleneckNotAverage", certifiedPlan,
     [](fb::PlanT &p) { p.summary->bound_bottleneck_bytes = 37; },
     "summary.bound_bottleneck_bytes: is 37, the average of bound_moved_bytes "
     "is 36"},
    {"UnknownQuantity", certifiedPlan,
     [](fb::PlanT &p) {
       p.certificates[1]->quantity = static_cast<fb::Quantity>(2);
     },
     "certificates[1].quantity: 2 is not a known value"},
    {"UnknownScope", certifiedPlan,
     [](fb::PlanT &p) { p.certificates[0]->scope = static_cast<fb::Scope>(9); },
     "certificates[0].scope: 9 is not a known value"},
    {"UnknownCounted", certifiedPlan,
     [](fb::PlanT &p) {
       p.certificates[0]->counted = static_cast<fb::Counted>(255);
     },
     "certificates[0].counted: 255 is not a known value"},
    {"CertificateTwice", certifiedPlan,
     [](fb::PlanT &p) {
       p.certificates[1]->quantity = fb::Quantity::moved_bytes;
     },
     "certificates[1]: a second one of moved_bytes"},
    {"RowDualMissing", certifiedPlan,
     [](fb::PlanT &p) { p.certificates[0]->row_duals.pop_back(); },
     "certificates[0].row_duals: 1 entries, curr has 2 roles"},
    {"ColumnDualTooMany", certifiedPlan,
     [](fb::PlanT &p) { p.certificates[0]->column_duals.push_back(0); },
     "certificates[0].column_duals: 3 entries, prev has 2 roles"},
    {"ClassDualMissing", certifiedPlan,
     [](fb::PlanT &p) { p.certificates[1]->column_duals.clear(); },
     "certificates[1].column_duals: 0 entries, there are 2 classes of nodes"},
    {"DualChanged", certifiedPlan,
     [](fb::PlanT &p) { ++p.certificates[0]->row_duals[1]; },
     "certificates[0].bound: is 144, the duals prove 142"},
    {"DualsBeyondNumbers", certifiedPlan,
     [](fb::PlanT &p) {
       p.certificates[0]->row_duals = {UINT64_MAX, UINT64_MAX};
       p.certificates[0]->column_duals = {UINT64_MAX, UINT64_MAX};
     },
     "certificates[0].bound: is 144, the duals prove 0"},
    {"CertifiedBoundChanged", certifiedPlan,
     [](fb::PlanT &p) { p.certificates[1]->bound = 145; },
     "certificates[1].bound: is 145, the duals prove 144"},
    {"CastNotCovered", certifiedPlan,
     [](fb::PlanT &p) { p.certificates[0]->covers_recomputation = true; },
     "certificates[0].covers_recomputation: layer.weight (param) could be "
     "cast, and counts"},
    {"NeededTwinNotCovered", certifiedPlan,
     [](fb::PlanT &p) { p.certificates[0]->covers_twins = true; },
     "certificates[0].covers_twins: head.weight (param) is needed beside its "
     "twin, and counts apart"},
    {"TwinNotCovered", certifiedPlan,
     [](fb::PlanT &p) {
       p.tensors.push_back(std::make_unique<fb::TensorT>(*p.tensors[1]));
       p.tensors.back()->name = "twin";
       p.tensors[1]->tied_to = static_cast<int32_t>(p.tensors.size() - 1);
       p.certificates[1]->covers_twins = true;
     },
     "certificates[1].covers_twins: layer.weight (param) has holders of its "
     "own, and counts apart"},
    {"RelaysNotCovered", certifiedRelayPlan,
     [](fb::PlanT &p) { p.certificates[1]->covers_relays = false; },
     "summary.bound_internode_bytes: does not hold for plans with relays, of "
     "which this is one"},
    {"BarredDescends", certifiedRelayPlan,
     [](fb::PlanT &p) {
       p.barred = {1, 0};
     },
     "barred[1]: 0 after 1, devices ascend"},
    {"BarredBeyond", certifiedRelayPlan,
     [](fb::PlanT &p) {
       p.barred = {0, 3};
     },
     "barred[1]: 3 is not in [0, 3)"},
    {"BarredLeftOut", certifiedRelayPlan,
     [](fb::PlanT &p) { p.barred.clear(); },
     "certificates[0].bound: is 64, the duals prove 32"},
    {"DerivedIsReceived", certifiedPlan,
     [](fb::PlanT &p) { p.tensors[1]->is_derived = true; },
     "programs[0].rounds[0].ops[2]: receives layer.weight (param), which is "
     "derived"},
    {"DerivedFromNone", certifiedPlan,
     [](fb::PlanT &p) { p.tensors[0]->is_derived = true; },
     "tensors[0].is_derived: the tensor has no derived_from"},
};

} // namespace etc::plan::test
