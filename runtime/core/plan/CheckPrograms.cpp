// Programs: devices, peers, shards, rounds and ops.

#include "core/plan/FormatRules.h"
#include "core/plan/PlanFile.h"
#include "core/plan/World.h"

#include <algorithm>
#include <map>

using namespace etc;
using namespace etc::plan;

namespace {

class ProgramChecker {
public:
  explicit ProgramChecker(const fb::Plan &plan)
      : plan(plan), participants(readWorld(plan)->participants) {}

  Status run();

private:
  Status checkRoles(const fb::Program &program) const;
  Status checkDevices(const std::string &path, uint32_t index);
  Status checkPeers(const std::string &path, const fb::Program &program);
  Status checkHoldings(const std::string &path, const Uints &shards,
                       bool isCurr);
  Status checkTransit(const std::string &path, const fb::Program &program);
  /// Messages go on from the program's path, and from the op's.
  Status checkRounds(const fb::Program &program);
  Status checkOp(const fb::Program &program, const fb::Op &op);

  bool isParticipant(uint32_t device) const {
    return std::binary_search(participants.begin(), participants.end(), device);
  }

  Status checkComplete(uint32_t longest) const;

  const fb::Plan &plan;
  const std::vector<uint32_t> participants;
  std::map<uint32_t, uint32_t> programOfDevice;
};

} // namespace

Status ProgramChecker::run() {
  uint32_t longest = 0;
  for (uint32_t p = 0; p != plan.programs()->size(); ++p) {
    const fb::Program &program = *plan.programs()->Get(p);
    std::string path = item("programs", p);
    if (Status s = checkRoles(program); !s.ok())
      return under(path, s);
    if (Status s = checkDevices(path, p); !s.ok())
      return s;
    if (Status s = checkPeers(path, program); !s.ok())
      return s;
    if (Status s = checkHoldings(path + ".prev_shards", *program.prev_shards(),
                                 /*isCurr=*/false);
        !s.ok())
      return s;
    if (Status s = checkHoldings(path + ".curr_shards", *program.curr_shards(),
                                 /*isCurr=*/true);
        !s.ok())
      return s;
    if (Status s = checkTransit(path, program); !s.ok())
      return s;
    if (Status s = checkRounds(program); !s.ok())
      return under(path, s);
    longest = std::max(longest, program.rounds()->size());
  }
  return checkComplete(longest);
}

/// Everybody has a program, and every round of one a forecast.
Status ProgramChecker::checkComplete(uint32_t longest) const {
  if (const fb::Slice *slice = plan.slice()) {
    if (!programOfDevice.count(participants[slice->rank()]))
      return malformed("slice.rank: rank ", slice->rank(), " is device ",
                       participants[slice->rank()], ", which has no program");
    return longest <= plan.forecast()->size()
               ? Status::success()
               : malformed("forecast: ", plan.forecast()->size(),
                           " entries, the program has ", longest, " rounds");
  }
  for (uint32_t i = 0; i != participants.size(); ++i)
    if (!programOfDevice.count(participants[i]))
      return malformed(item("participants", i), ": device ", participants[i],
                       " has no program");
  if (plan.deferred_rounds() > plan.forecast()->size())
    return outOfRange("deferred_rounds", plan.deferred_rounds(),
                      uint64_t{plan.forecast()->size()} + 1);
  if (plan.forecast()->size() != longest)
    return malformed("forecast: ", plan.forecast()->size(),
                     " entries, the longest program has ", longest, " rounds");
  return Status::success();
}

Status ProgramChecker::checkRoles(const fb::Program &program) const {
  if (Status s = checkRole(*plan.prev(), program.prev_role()); !s.ok())
    return under(".prev_role", s);
  if (Status s = checkRole(*plan.curr(), program.curr_role()); !s.ok())
    return under(".curr_role", s);
  return Status::success();
}

Status ProgramChecker::checkDevices(const std::string &path, uint32_t index) {
  const Uints &devices = *plan.programs()->Get(index)->devices();
  if (devices.size() == 0)
    return malformed(path, ".devices: at least one is needed");
  if (Status s = checkAscending(path + ".devices", devices); !s.ok())
    return s;
  for (uint32_t i = 0; i != devices.size(); ++i) {
    if (!isParticipant(devices[i]))
      return malformed(item(path + ".devices", i), ": ", devices[i],
                       " is not a participant");
    auto [it, isNew] = programOfDevice.try_emplace(devices[i], index);
    if (!isNew)
      return malformed(item(path + ".devices", i), ": ", devices[i],
                       " is in programs[", it->second, "] already");
  }
  return Status::success();
}

Status ProgramChecker::checkPeers(const std::string &path,
                                  const fb::Program &program) {
  for (uint32_t s = 0; s != program.peers()->size(); ++s) {
    const Uints &peers = *program.peers()->Get(s)->devices();
    std::string list = item(path + ".peers", s) + ".devices";
    if (peers.size() != program.devices()->size())
      return malformed(list, ": ", peers.size(), " entries, the program has ",
                       program.devices()->size(), " devices");
    for (uint32_t i = 0; i != peers.size(); ++i) {
      if (!isParticipant(peers[i]))
        return malformed(item(list, i), ": ", peers[i],
                         " is not a participant");
      if (peers[i] == program.devices()->Get(i))
        return malformed(item(list, i), ": device ", peers[i],
                         " is its own peer");
    }
  }
  return Status::success();
}

Status ProgramChecker::checkHoldings(const std::string &path,
                                     const Uints &shards, bool isCurr) {
  std::vector<uint32_t> held;
  for (uint32_t i = 0; i != shards.size(); ++i) {
    if (shards[i] >= plan.shards()->size())
      return outOfRange(item(path, i), shards[i], plan.shards()->size());
    const fb::Shard &shard = *plan.shards()->Get(shards[i]);
    const fb::Tensor &entry = *plan.tensors()->Get(shard.tensor());
    held.push_back(shard.tensor());
    const Longs &shape =
        isCurr || !entry.prev_shape() ? *entry.shape() : *entry.prev_shape();
    for (uint32_t b = 0; b != shard.box_count(); ++b) {
      const BoxView box = BoxView::ofBounds(
          plan.bounds()->data() + plan.boxes()->Get(shard.first_box() + b),
          shape.size());
      for (uint32_t axis = 0; axis != shape.size(); ++axis)
        if (box[axis].end > shape[axis])
          return malformed(item(path, i), ": box ", describe(box),
                           " leaves the ", isCurr ? "current" : "previous",
                           " shape on axis ", axis, ", of ", shape[axis]);
    }
  }
  std::sort(held.begin(), held.end());
  auto twice = std::adjacent_find(held.begin(), held.end());
  if (twice != held.end())
    return malformed(path, ": two shards of tensors[", *twice, "]");
  return Status::success();
}

/// A loader that does not know of them would not allocate them.
Status ProgramChecker::checkTransit(const std::string &path,
                                    const fb::Program &program) {
  if (!program.transit_shards())
    return Status::success();
  if (!(plan.features() & kTransitFeature))
    return malformed(path, ".transit_shards: features lacks flag 2");
  return checkHoldings(path + ".transit_shards", *program.transit_shards(),
                       /*isCurr=*/true);
}

Status ProgramChecker::checkRounds(const fb::Program &program) {
  for (uint32_t r = 0; r != program.rounds()->size(); ++r) {
    const auto &ops = *program.rounds()->Get(r)->ops();
    for (uint32_t o = 0; o != ops.size(); ++o)
      if (Status s = checkOp(program, *ops.Get(o)); !s.ok())
        return under(text(".rounds[", r, "].ops[", o, "]"), s);
  }
  return Status::success();
}

Status ProgramChecker::checkOp(const fb::Program &program, const fb::Op &op) {
  if (op.kind() > fb::OpKind::MAX)
    return malformed(".kind: ", int(op.kind()), " is not a known op");
  bool isMessage =
      op.kind() == fb::OpKind::send || op.kind() == fb::OpKind::recv;
  uint32_t peerEnd = isMessage ? program.peers()->size() : 1;
  if (op.peer() >= peerEnd)
    return outOfRange(".peer", op.peer(), peerEnd);
  if (op.from_curr() && op.kind() != fb::OpKind::send)
    return malformed(".from_curr: only a send has it");
  if (op.transit() && !isMessage && op.kind() != fb::OpKind::release)
    return malformed(".transit: only a send, a recv and a release have it");
  if (op.transit() && op.from_curr())
    return malformed(".transit: a send is not from_curr, too");
  for (auto [name, value] :
       {std::pair(".tensor", op.tensor()), std::pair(".source", op.source())})
    if (value >= plan.tensors()->size())
      return outOfRange(name, value, plan.tensors()->size());
  if (op.kind() == fb::OpKind::release)
    return op.box() == 0 ? Status::success()
                         : malformed(".box: ", op.box(), ", a release has 0");
  if (Status s =
          checkBox(boundsOf(plan), op.box(), *plan.tensors()->Get(op.tensor()));
      !s.ok())
    return under(".box", s);
  return Status::success();
}

Status etc::plan::checkPrograms(const fb::Plan &plan) {
  return ProgramChecker(plan).run();
}
