// Programs and ops that are wrong.

#include "MalformedPlans.h"

namespace etc::plan::test {

const std::vector<MalformedPlan> kMalformedPrograms = {
    {"NoDevices", twoStagePlan,
     [](fb::PlanT &p) {
       p.programs[0]->devices.clear();
       p.programs[0]->peers[0]->devices.clear();
     },
     "programs[0].devices: at least one is needed"},
    {"DevicesDescend", twoStagePlan,
     [](fb::PlanT &p) {
       p.programs[0]->devices = {1, 0};
     },
     "programs[0].devices[1]: 0 after 1, devices ascend"},
    {"DeviceNoParticipant", twoStagePlan,
     [](fb::PlanT &p) {
       p.programs[0]->devices = {0, 7};
     },
     "programs[0].devices[1]: 7 is not a participant"},
    {"DeviceInTwoPrograms", twoStagePlan,
     [](fb::PlanT &p) {
       p.programs[1]->devices = {1, 3};
     },
     "programs[1].devices[0]: 1 is in programs[0] already"},
    {"PeersOfOtherLength", twoStagePlan,
     [](fb::PlanT &p) { p.programs[0]->peers[0]->devices = {2}; },
     "programs[0].peers[0].devices: 1 entries, the program has 2 devices"},
    {"PeerNoParticipant", twoStagePlan,
     [](fb::PlanT &p) {
       p.programs[0]->peers[0]->devices = {2, 9};
     },
     "programs[0].peers[0].devices[1]: 9 is not a participant"},
    {"OwnPeer", twoStagePlan,
     [](fb::PlanT &p) {
       p.programs[0]->peers[0]->devices = {0, 3};
     },
     "programs[0].peers[0].devices[0]: device 0 is its own peer"},
    {"PeerTwice", relayPlan,
     [](fb::PlanT &p) { p.programs[1]->peers[1]->devices = {0}; },
     "programs[1].peers[1].devices[0]: device 0 is in peers[0] already"},
    {"PeerDoesNotKnow", twoStagePlan,
     [](fb::PlanT &p) {
       p.programs[0]->peers[0]->devices = {3, 3};
     },
     "programs[0].peers[0].devices[0]: device 3 does not have device 0 as a "
     "peer"},
    {"ShardBeyond", twoStagePlan,
     [](fb::PlanT &p) { p.programs[0]->prev_shards.push_back(100); },
     "programs[0].prev_shards[2]: 100 is not in [0, 11)"},
    {"CurrShardBeyond", twoStagePlan,
     [](fb::PlanT &p) { p.programs[1]->curr_shards[0] = 100; },
     "programs[1].curr_shards[0]: 100 is not in [0, 11)"},
    {"TwoShardsOfATensor", twoStagePlan,
     [](fb::PlanT &p) {
       p.programs[0]->prev_shards.push_back(p.programs[0]->prev_shards[0]);
     },
     "programs[0].prev_shards: two shards of tensors[0]"},
    {"ShardLeavesPrevious", twoStagePlan,
     [](fb::PlanT &p) {
       p.programs[0]->prev_shards = {p.programs[1]->curr_shards[0],
                                     p.programs[0]->prev_shards[1]};
     },
     "programs[0].prev_shards[0]: box [3:6, 0:4] leaves the previous shape on "
     "axis 0, of 5"},
    {"UnknownOp", twoStagePlan,
     [](fb::PlanT &p) {
       ops(p, 0, 0)[0].mutate_kind(static_cast<fb::OpKind>(6));
     },
     "programs[0].rounds[0].ops[0].kind: 6 is not a known op"},
    {"PeerSlotBeyond", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 0)[0].mutate_peer(1); },
     "programs[0].rounds[0].ops[0].peer: 1 is not in [0, 1)"},
    {"PeerOfARefer", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 0)[3].mutate_peer(1); },
     "programs[0].rounds[0].ops[3].peer: 1 is not in [0, 1)"},
    {"RelayedRefer", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 0)[3].mutate_from_curr(true); },
     "programs[0].rounds[0].ops[3].from_curr: only a send has it"},
    {"ReferInTransit", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 0)[3].mutate_transit(true); },
     "programs[0].rounds[0].ops[3].transit: only a send, a recv and a release "
     "have it"},
    {"RelayedInTransit", transitPlan,
     [](fb::PlanT &p) { ops(p, 1, 1)[0].mutate_from_curr(true); },
     "programs[1].rounds[1].ops[0].transit: a send is not from_curr, too"},
    {"TransitWithoutShard", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 0)[2].mutate_transit(true); },
     "programs[0].rounds[0].ops[2]: the program holds no transit shard of "
     "layer.weight (param)"},
    {"TransitUnannounced", transitPlan, [](fb::PlanT &p) { p.features = 0; },
     "programs[1].transit_shards: features lacks flag 2"},
    {"TransitShardBeyond", transitPlan,
     [](fb::PlanT &p) { p.programs[1]->transit_shards[0] = 100; },
     "programs[1].transit_shards[0]: 100 is not in [0, 3)"},
    {"OpTensorBeyond", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 0)[0].mutate_tensor(5); },
     "programs[0].rounds[0].ops[0].tensor: 5 is not in [0, 5)"},
    {"OpSourceBeyond", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 0)[0].mutate_source(0xffffffff); },
     "programs[0].rounds[0].ops[0].source: 4294967295 is not in [0, 5)"},
    {"OpBoxBeyond", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 0)[0].mutate_box(0xffffffff); },
     "programs[0].rounds[0].ops[0].box: bounds [4294967295, 4294967299) are "
     "not in [0, 64)"},
    {"ReleaseWithBox", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 0)[5].mutate_box(2); },
     "programs[0].rounds[0].ops[5].box: 2, a release has 0"},
    {"SendsWhatItLacks", twoStagePlan,
     [](fb::PlanT &p) {
       ops(p, 0, 0)[0] = send(0, 2, 2, ops(p, 0, 1)[0].box());
     },
     "programs[0].rounds[0].ops[0]: the program holds no previous shard of "
     "layer.weight (master)"},
    {"ReceivesWhatItLacks", relayPlan,
     [](fb::PlanT &p) {
       ops(p, 1, 0)[0].mutate_tensor(1);
       ops(p, 1, 0)[0].mutate_source(1);
     },
     "programs[1].rounds[0].ops[0]: the program holds no current shard of w "
     "(param)"},
    {"ReleasesWhatItLacks", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 1).push_back(release(2)); },
     "programs[0].rounds[1].ops[1]: the program holds no previous shard of "
     "layer.weight (master)"},
    {"SourceNotTied", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 0)[1].mutate_source(1); },
     "programs[0].rounds[0].ops[1]: source layer.weight (param) is not tied to "
     "head.weight (param)"},
    {"DeriveOfNothing", twoStagePlan,
     [](fb::PlanT &p) {
       ops(p, 0, 1).push_back(derive(0, 2, ops(p, 0, 0)[3].box()));
     },
     "programs[0].rounds[1].ops[1]: source layer.weight (master) is not what "
     "embedding.weight (param) is derived from"},
    {"DeriveFromOther", relayPlan,
     [](fb::PlanT &p) { ops(p, 2, 2)[0].mutate_source(1); },
     "programs[2].rounds[2].ops[0]: source w (param) is not what w (param) is "
     "derived from"},
    {"ZeroOfOther", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 1, 0)[5].mutate_source(4); },
     "programs[1].rounds[0].ops[5]: source head.weight (param) is not "
     "embedding.weight (param), the op's tensor"},
    {"ZeroesOldRows", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 1, 0)[5].mutate_box(ops(p, 1, 0)[1].box()); },
     "programs[1].rounds[0].ops[5]: zeroes [3:5, 0:4] of embedding.weight "
     "(param), which has previous elements"},
    {"OutsideOfShard", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 0)[3].mutate_box(ops(p, 0, 0)[0].box()); },
     "programs[0].rounds[0].ops[3]: [3:5, 0:4] is not within one box of the "
     "current shard of embedding.weight (param)"},
    {"NothingWrites", twoStagePlan, [](fb::PlanT &p) { ops(p, 0, 1).clear(); },
     "programs[0] (device 0): nothing writes [0:2, 0:4] of layer.weight "
     "(master)"},
    {"WrittenTwice", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 1).push_back(ops(p, 0, 0)[3]); },
     "programs[0].rounds[1].ops[1]: writes [0:3, 0:4] of embedding.weight "
     "(param), of which rounds[0].ops[3] writes [0:3, 0:4] too"},
    {"KeptNorm", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 0).erase(ops(p, 0, 0).begin() + 4); },
     "programs[0] (device 0): nothing writes [0:4] of norm.weight (param)"},
    {"NobodySends", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 1, 1).erase(ops(p, 1, 1).begin()); },
     "programs[0].rounds[1].ops[0]: device 0 receives [0:2, 0:4] of "
     "layer.weight (master), device 2 does not send it in round 1"},
    {"NobodyReceives", relayPlan, [](fb::PlanT &p) { ops(p, 1, 1).clear(); },
     "programs[2].rounds[1].ops[0]: device 2 receives [0:8] of w (master), "
     "device 1 does not send it in round 1"},
    {"OtherOrder", twoStagePlan,
     [](fb::PlanT &p) { std::swap(ops(p, 1, 0)[1], ops(p, 1, 0)[2]); },
     "programs[1].rounds[0].ops[1]: device 2 receives [3:5, 0:4] of "
     "head.weight (param) from embedding.weight (param) where device 0 sends "
     "[3:5, 0:4] of embedding.weight (param)"},
    {"OtherRound", relayPlan,
     [](fb::PlanT &p) { std::swap(ops(p, 2, 0), ops(p, 2, 1)); },
     "programs[2].rounds[0].ops[0]: device 2 receives [0:8] of w (master), "
     "device 1 does not send it in round 0"},
    {"ReadAfterRelease", twoStagePlan,
     [](fb::PlanT &p) {
       ops(p, 0, 1).push_back(ops(p, 0, 0)[3]);
       ops(p, 0, 0).erase(ops(p, 0, 0).begin() + 3);
     },
     "programs[0].rounds[1].ops[1]: read after release: round 0 released "
     "embedding.weight (param)"},
    {"ReleasedTwice", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 1).push_back(release(0)); },
     "programs[0].rounds[1].ops[1]: releases embedding.weight (param), which "
     "round 0 released"},
    {"ReleasesBound", twoStagePlan,
     [](fb::PlanT &p) { ops(p, 0, 0).push_back(release(3)); },
     "programs[0].rounds[0].ops[6]: releases norm.weight (param), whose memory "
     "round 0 bound as the current shard"},
    {"RelayTooEarly", relayPlan,
     [](fb::PlanT &p) { std::swap(ops(p, 1, 0), ops(p, 1, 1)); },
     "programs[1].rounds[0].ops[0]: relays [0:8] of w (master) before it is "
     "written"},
    {"RelayInTheRound", relayPlan,
     [](fb::PlanT &p) {
       ops(p, 1, 0).push_back(ops(p, 1, 1)[0]);
       ops(p, 1, 1).clear();
     },
     "programs[1].rounds[0].ops[1]: relays [0:8] of w (master) in round 0, the "
     "round that writes it; the next one can"},
    {"DeriveInTheRound", relayPlan,
     [](fb::PlanT &p) {
       ops(p, 2, 1).push_back(ops(p, 2, 2)[0]);
       ops(p, 2, 2).clear();
     },
     "programs[2].rounds[1].ops[1]: derives from [0:8] of w (master) in round "
     "1, the round that writes it; the next one can"},
    {"SendSlabTooSmall", twoStagePlan,
     [](fb::PlanT &p) { p.programs[0]->send_slab = 31; },
     "programs[0].send_slab: 31 bytes, round 0 sends 32"},
    {"RecvSlabTooSmall", twoStagePlan,
     [](fb::PlanT &p) { p.programs[1]->recv_slab = 0; },
     "programs[1].recv_slab: 0 bytes, round 0 receives 32"},
    {"PeakTooLow", twoStagePlan,
     [](fb::PlanT &p) { p.programs[0]->peak = 159; },
     "programs[0]: peak is 160 bytes in round 0, the plan states 159"},
    {"PeakTooHigh", twoStagePlan,
     [](fb::PlanT &p) { p.programs[1]->peak = 1000; },
     "programs[1]: peak is 240 bytes in round 0, the plan states 1000"},
    {"SafePeakWrong", twoStagePlan,
     [](fb::PlanT &p) { p.programs[1]->peak_safe = 240; },
     "programs[1]: safe peak is 272 bytes, the plan states 240"},
    {"SlabLarger", twoStagePlan,
     [](fb::PlanT &p) { p.programs[1]->send_slab = 64; },
     "programs[1]: peak is 272 bytes in round 0, the plan states 240"},
    {"PauseTooShort", deferredPlan, [](fb::PlanT &p) { p.deferred_rounds = 2; },
     "programs[0].rounds[0].ops[0]: is deferred, but embedding.weight (param) "
     "is not"},
    {"PauseTooLong", deferredPlan, [](fb::PlanT &p) { p.deferred_rounds = 0; },
     "programs[0].rounds[1].ops[0]: is not deferred, but layer.weight (master) "
     "is"},
    {"MoreDeferredRoundsThanRounds", deferredPlan,
     [](fb::PlanT &p) { p.deferred_rounds = 3; },
     "deferred_rounds: 3 is not in [0, 3)"},
    {"ParametersInTheTail", deferredPlan,
     [](fb::PlanT &p) {
       ops(p, 0, 1).push_back(ops(p, 0, 0)[4]);
       ops(p, 0, 0).erase(ops(p, 0, 0).begin() + 4);
     },
     "programs[0].rounds[1].ops[1]: is deferred, but norm.weight (param) is "
     "not"},
    {"CopiesInThePause", deferredPlan,
     [](fb::PlanT &p) {
       ops(p, 1, 0).push_back(ops(p, 1, 1)[1]);
       ops(p, 1, 1).erase(ops(p, 1, 1).begin() + 1);
     },
     "programs[1].rounds[0].ops[8]: is not deferred, but layer.weight (master) "
     "is"},
    {"TailPeakTooLow", deferredPlan,
     [](fb::PlanT &p) { --p.programs[1]->tail_peak; },
     "programs[1]: the tail's peak is 384 bytes, the plan states 383"},
    {"SafeTailPeakTooLow", deferredPlan,
     [](fb::PlanT &p) { p.programs[0]->tail_peak_safe = 0; },
     "programs[0]: the tail's safe peak is 288 bytes, the plan states 0"},
    {"OtherGradients", deferredPlan, [](fb::PlanT &p) { p.gradient_bytes = 2; },
     "programs[0]: the tail's peak is 200 bytes, the plan states 248"},
    {"TailPeakOfNoTail", twoStagePlan,
     [](fb::PlanT &p) { p.programs[0]->tail_peak = 152; },
     "programs[0]: the tail's peak is 0 bytes, the plan states 152"},
    {"SafeTailPeakOfNoTail", twoStagePlan,
     [](fb::PlanT &p) { p.programs[0]->tail_peak_safe = 192; },
     "programs[0]: the tail's safe peak is 0 bytes, the plan states 192"},
    {"NoPrograms", twoStagePlan, [](fb::PlanT &p) { p.programs.clear(); },
     "participants[0]: device 0 has no program"},
    {"NoRounds", twoStagePlan,
     [](fb::PlanT &p) { p.programs[0]->rounds.clear(); },
     "programs[0] (device 0): nothing writes [0:3, 0:4] of embedding.weight "
     "(param)"},
};

} // namespace etc::plan::test
