// Tables, shapes, placements and sums that are wrong.

#include "MalformedPlans.h"

namespace etc::plan::test {

const std::vector<MalformedPlan> kMalformedTables = {
    {"FutureVersion", twoStagePlan, [](fb::PlanT &p) { p.version = 3; },
     "format version 3, this build reads 2; write it again with etc-opt "
     "--emit=plan"},
    {"VersionZero", twoStagePlan, [](fb::PlanT &p) { p.version = 0; },
     "format version 0, this build reads 2; write it again with etc-opt "
     "--emit=plan"},
    {"UnknownFeature", twoStagePlan, [](fb::PlanT &p) { p.features = 512; },
     "needs features that this build does not know (flags "
     "0x0000000000000200); write it again with etc-opt --emit=plan"},
    {"SliceFeature", twoStagePlan, [](fb::PlanT &p) { p.features = 1; },
     "features: a slice has flag 1, and no other plan"},
    {"ManyFeatures", twoStagePlan,
     [](fb::PlanT &p) { p.features = ~uint64_t{0}; },
     "needs features that this build does not know (flags "
     "0xfffffffffffffe14); write it again with etc-opt --emit=plan"},
    {"TooManyDevices", twoStagePlan,
     [](fb::PlanT &p) { p.nodes.back() = 0xffffffff; },
     "nodes: 4294967297 devices, the most are 16777216"},
    {"NoNodes", twoStagePlan, [](fb::PlanT &p) { p.nodes.clear(); },
     "participants[3]: 3 is not in [0, 0)"},
    {"EmptyNode", twoStagePlan,
     [](fb::PlanT &p) {
       p.nodes = {4, 0};
     },
     "nodes[1]: a node has at least one device"},
    {"FewerDevices", twoStagePlan,
     [](fb::PlanT &p) {
       p.nodes = {2, 1};
     },
     "participants[3]: 3 is not in [0, 3)"},
    {"NoParticipants", twoStagePlan,
     [](fb::PlanT &p) { p.participants.clear(); },
     "participants: at least one is needed"},
    {"ParticipantsDescend", twoStagePlan,
     [](fb::PlanT &p) {
       p.participants = {0, 2, 1, 3};
     },
     "participants[2]: 1 after 2, devices ascend"},
    {"ParticipantTwice", twoStagePlan,
     [](fb::PlanT &p) {
       p.participants = {0, 1, 1, 3};
     },
     "participants[2]: 1 after 1, devices ascend"},
    {"ParticipantBeyond", twoStagePlan,
     [](fb::PlanT &p) {
       p.participants = {0, 1, 2, 9};
     },
     "participants[3]: 9 is not in [0, 4)"},
    {"ParticipantWithoutProgram", twoStagePlan,
     [](fb::PlanT &p) {
       p.nodes = {2, 3};
       p.participants = {0, 1, 2, 3, 4};
     },
     "participants[4]: device 4 has no program"},
    {"PrevWorldDiffers", twoStagePlan, [](fb::PlanT &p) { p.prev->dp = 3; },
     "prev_placement: 4 entries, prev has 6 ranks"},
    {"CurrWorldDiffers", twoStagePlan, [](fb::PlanT &p) { p.curr->dp = 1; },
     "curr_placement: 4 entries, curr has 2 ranks"},
    {"WorldBeyondNumbers", twoStagePlan,
     [](fb::PlanT &p) {
       p.curr->pp = p.curr->tp = p.curr->dp = p.curr->cp = UINT32_MAX;
     },
     "curr_placement: 4 entries, curr has 18446744073709551615 ranks"},
    {"EmptyDimension", twoStagePlan, [](fb::PlanT &p) { p.prev->etp = 0; },
     "prev.etp: 0 is not at least 1"},
    {"UnknownOrder", twoStagePlan,
     [](fb::PlanT &p) { p.curr->order = static_cast<fb::RankOrder>(2); },
     "curr.order: 2 is not a known order"},
    {"ExpertsDoNotDivide", twoStagePlan, [](fb::PlanT &p) { p.curr->ep = 3; },
     "curr.ep: etp x ep is 3, which does not divide the 4 ranks of a stage"},
    {"StagesDiffer", twoStagePlan,
     [](fb::PlanT &p) {
       p.prev->stages = {1, 2, 1};
     },
     "prev.stages: 3 entries, pp x vpp is 2"},
    {"NoShards", twoStagePlan, [](fb::PlanT &p) { p.prev->fsdp = 0; },
     "prev.fsdp: 0 is not at least 1"},
    {"ShardsOfNoReplica", twoStagePlan, [](fb::PlanT &p) { p.prev->fsdp = 3; },
     "prev.fsdp: 3 does not divide dp, 2"},
    {"MtpStageBeyond", twoStagePlan,
     [](fb::PlanT &p) { p.prev->mtp_stage = 2; },
     "prev.mtp_stage: 2 is not in [-1, 2)"},
    {"RoleOfNoStage", twoStagePlan,
     [](fb::PlanT &p) { *p.programs[1]->prev_role = fb::Role(2, 0, -1); },
     "programs[1].prev_role.stage: 2 is not in [0, 2)"},
    {"RoleOfNoSlot", twoStagePlan,
     [](fb::PlanT &p) { *p.programs[0]->curr_role = fb::Role(0, 4, -1); },
     "programs[0].curr_role.slot: 4 is not in [0, 4)"},
    {"RoleOfNoReplica", twoStagePlan,
     [](fb::PlanT &p) { *p.programs[0]->curr_role = fb::Role(0, 0, -2); },
     "programs[0].curr_role.replica: -2 is not in [-1, 4)"},
    {"PrevPlacementBeyond", twoStagePlan,
     [](fb::PlanT &p) { p.prev_placement[1] = 44; },
     "prev_placement[1]: 44 is not in [0, 4)"},
    {"CurrPlacementBeyond", twoStagePlan,
     [](fb::PlanT &p) { p.curr_placement[3] = 4; },
     "curr_placement[3]: 4 is not in [0, 4)"},
    {"CurrPlacementTwice", twoStagePlan,
     [](fb::PlanT &p) {
       p.curr_placement = {0, 0, 1, 3};
     },
     "curr_placement: two ranks are on device 0"},
    {"PrevPlacementTwice", twoStagePlan,
     [](fb::PlanT &p) {
       p.prev_placement = {0, 0, 2, 3};
     },
     "prev_placement: two ranks are on device 0"},
    {"CurrWithoutRank", twoStagePlan,
     [](fb::PlanT &p) {
       p.curr_placement = {0, 1, 3};
       p.curr = grid(1, /*tp=*/3, 1);
     },
     "curr_placement: device 2 holds current state and has no rank"},
    {"PrevWithoutRank", twoStagePlan,
     [](fb::PlanT &p) {
       p.prev_placement = {0, 1, 3};
       p.prev = grid(/*pp=*/3, 1, 1);
     },
     "prev_placement: device 2 holds previous state and has no rank"},
    {"UnknownDtype", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[0]->dtype = static_cast<fb::DType>(9); },
     "tensors[0].dtype: 9 is not a known type"},
    {"UnknownPattern", twoStagePlan,
     [](fb::PlanT &p) {
       p.patterns = {"layer.{layer}.weight"};
       p.tensors[1]->pattern = 1;
     },
     "tensors[1].pattern: 1 is not in [-1, 1)"},
    {"NoAxes", twoStagePlan, [](fb::PlanT &p) { p.tensors[3]->shape.clear(); },
     "tensors[3].shape: 0 axes, from 1 to 8 are allowed"},
    {"NineAxes", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[3]->shape.assign(9, 1); },
     "tensors[3].shape: 9 axes, from 1 to 8 are allowed"},
    {"EmptyAxis", twoStagePlan, [](fb::PlanT &p) { p.tensors[3]->shape = {0}; },
     "tensors[3].shape[0]: 0 is not at least 1"},
    {"NegativeAxis", twoStagePlan,
     [](fb::PlanT &p) {
       p.tensors[1]->shape = {4, -4};
     },
     "tensors[1].shape[1]: -4 is not at least 1"},
    {"HugeTensor", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[3]->shape = {int64_t{1} << 45}; },
     "tensors[3].shape: larger than 16 TiB"},
    {"OverflowingTensor", twoStagePlan,
     [](fb::PlanT &p) {
       p.tensors[1]->shape = {int64_t{1} << 62, int64_t{1} << 62};
     },
     "tensors[1].shape: larger than 16 TiB"},
    {"ViewDiffers", twoStagePlan,
     [](fb::PlanT &p) {
       p.tensors[1]->view = {3, 5};
     },
     "tensors[1].view: 15 elements, the shape has 16"},
    {"PrevShapeOfOtherRank", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[0]->prev_shape = {5}; },
     "tensors[0].prev_shape: 1 axes, the shape has 2"},
    {"PrevShapeEmpty", twoStagePlan,
     [](fb::PlanT &p) {
       p.tensors[0]->prev_shape = {5, 0};
     },
     "tensors[0].prev_shape[1]: 0 is not at least 1"},
    {"TensorTwice", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[4]->name = "embedding.weight"; },
     "tensors[4]: embedding.weight (param) is tensors[0] already"},
    {"TiedBeyond", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[4]->tied_to = 5; },
     "tensors[4].tied_to: 5 is not in [-1, 5)"},
    {"TiedBelow", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[4]->tied_to = -2; },
     "tensors[4].tied_to: -2 is not in [-1, 5)"},
    {"TiedToItself", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[4]->tied_to = 4; },
     "tensors[4].tied_to: the tensor itself"},
    {"TiedToOtherShape", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[4]->tied_to = 1; },
     "tensors[4].tied_to: tensors[1] has another shape"},
    {"TiedInAChain", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[0]->tied_to = 4; },
     "tensors[0].tied_to: tensors[4] is a tied copy itself"},
    {"TiedToOtherType", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[0]->type = "master"; },
     "tensors[4].tied_to: tensors[0] has another type"},
    {"DerivedBeyond", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[1]->derived_from = 99; },
     "tensors[1].derived_from: 99 is not in [-1, 5)"},
    {"DerivedFromItself", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[1]->derived_from = 1; },
     "tensors[1].derived_from: the tensor itself"},
    {"DerivedFromOtherShape", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[1]->derived_from = 0; },
     "tensors[1].derived_from: tensors[0] has another shape"},
    {"DerivedInAChain", twoStagePlan,
     [](fb::PlanT &p) { p.tensors[2]->derived_from = 1; },
     "tensors[1].derived_from: tensors[2] is derived itself"},
    {"DerivedFromHalf", relayPlan,
     [](fb::PlanT &p) { p.tensors[0]->dtype = fb::DType::bf16; },
     "tensors[1].derived_from: no cast from bf16 to bf16, only from fp32 to "
     "bf16 or fp16"},
    {"DerivedToFull", relayPlan,
     [](fb::PlanT &p) { p.tensors[1]->dtype = fb::DType::fp32; },
     "tensors[1].derived_from: no cast from fp32 to fp32, only from fp32 to "
     "bf16 or fp16"},
    {"ShardOfNoTensor", twoStagePlan,
     [](fb::PlanT &p) { p.shards[0].mutate_tensor(77); },
     "shards[0].tensor: 77 is not in [0, 5)"},
    {"ShardWithoutBox", twoStagePlan,
     [](fb::PlanT &p) { p.shards[1].mutate_box_count(0); },
     "shards[1].box_count: a shard has at least one box"},
    {"ShardBoxesBeyond", twoStagePlan,
     [](fb::PlanT &p) { p.shards[1].mutate_box_count(1000); },
     "shards[1]: boxes [1, 1001) are not in [0, 11)"},
    {"ShardFirstBoxBeyond", twoStagePlan,
     [](fb::PlanT &p) { p.shards[1].mutate_first_box(0xffffffff); },
     "shards[1]: boxes [4294967295, 4294967296) are not in [0, 11)"},
    {"ShardsShareABox", twoStagePlan,
     [](fb::PlanT &p) { p.shards[2].mutate_first_box(1); },
     "shards[2].first_box: 1, the boxes of the shards before end at 2"},
    {"BoxBeyondBounds", twoStagePlan,
     [](fb::PlanT &p) { p.boxes[0] = 0xfffffff0; },
     "shards[0]: boxes[0]: bounds [4294967280, 4294967282) are not in [0, 64)"},
    {"BoxBackwards", twoStagePlan,
     [](fb::PlanT &p) {
       p.bounds[p.boxes[1]] = 4;
       p.bounds[p.boxes[1] + 1] = 0;
     },
     "shards[1]: boxes[1]: axis 0: 4:0 is not a range of [0, 6)"},
    {"BoxEmpty", twoStagePlan,
     [](fb::PlanT &p) { p.bounds[p.boxes[1] + 1] = 0; },
     "shards[1]: boxes[1]: axis 0: 0:0 is not a range of [0, 6)"},
    {"BoxNegative", twoStagePlan,
     [](fb::PlanT &p) { p.bounds[p.boxes[0]] = -1; },
     "shards[0]: boxes[0]: axis 0: -1:4 is not a range of [0, 4)"},
    {"BoxLeavesTensor", twoStagePlan,
     [](fb::PlanT &p) { p.bounds[p.boxes[0] + 1] = 5; },
     "shards[0]: boxes[0]: axis 0: 0:5 is not a range of [0, 4)"},
    {"OverlappingBoxes", twoStagePlan,
     [](fb::PlanT &p) {
       p.shards[1].mutate_first_box(p.shards[1].first_box());
       p.boxes.insert(p.boxes.end(), {p.boxes[1], p.boxes[1]});
       p.shards[1].mutate_first_box(p.boxes.size() - 2);
       p.shards[1].mutate_box_count(2);
     },
     "shards[1]: its boxes [0:5, 0:4] and [0:5, 0:4] overlap"},
    {"ForecastTooShort", twoStagePlan,
     [](fb::PlanT &p) { p.forecast.pop_back(); },
     "forecast: 1 entries, the longest program has 2 rounds"},
    {"ForecastTooLong", twoStagePlan,
     [](fb::PlanT &p) { p.forecast.emplace_back(0, 0); },
     "forecast: 3 entries, the longest program has 2 rounds"},
    {"ForecastWrong", twoStagePlan,
     [](fb::PlanT &p) { p.forecast[0].mutate_moved_bytes(1); },
     "forecast[0].moved_bytes: is 96, the plan states 1"},
    {"ForecastPortWrong", twoStagePlan,
     [](fb::PlanT &p) { p.forecast[1].mutate_max_port_bytes(1); },
     "forecast[1].max_port_bytes: is 32, the plan states 1"},
    {"MovedWrong", twoStagePlan,
     [](fb::PlanT &p) { p.summary->moved_bytes = 161; },
     "summary.moved_bytes: is 160, the plan states 161"},
    {"KeptWrong", twoStagePlan, [](fb::PlanT &p) { p.summary->kept_bytes = 0; },
     "summary.kept_bytes: is 208, the plan states 0"},
    {"ZeroedWrong", twoStagePlan,
     [](fb::PlanT &p) { p.summary->zeroed_bytes = 33; },
     "summary.zeroed_bytes: is 32, the plan states 33"},
    {"DerivedWrong", relayPlan,
     [](fb::PlanT &p) { p.summary->derived_bytes = 0; },
     "summary.derived_bytes: is 16, the plan states 0"},
    {"InternodeWrong", twoStagePlan,
     [](fb::PlanT &p) { p.summary->internode_bytes = 0; },
     "summary.internode_bytes: is 160, the plan states 0"},
    {"MaxSendWrong", twoStagePlan,
     [](fb::PlanT &p) { p.summary->max_send_bytes = 1; },
     "summary.max_send_bytes: is 48, the plan states 1"},
    {"MaxRecvWrong", twoStagePlan,
     [](fb::PlanT &p) { p.summary->max_recv_bytes = 1; },
     "summary.max_recv_bytes: is 48, the plan states 1"},
    {"MovedBoundAbove", twoStagePlan,
     [](fb::PlanT &p) { p.summary->bound_moved_bytes = 1000; },
     "summary.bound_moved_bytes: 1000 is above the plan's own 160"},
    {"InternodeBoundAbove", twoStagePlan,
     [](fb::PlanT &p) { p.summary->bound_internode_bytes = 1000; },
     "summary.bound_internode_bytes: 1000 is above the plan's own 160"},
    {"BottleneckBoundAbove", twoStagePlan,
     [](fb::PlanT &p) { p.summary->bound_bottleneck_bytes = 1000; },
     "summary.bound_bottleneck_bytes: 1000 is above the plan's own 48"},
};

} // namespace etc::plan::test
