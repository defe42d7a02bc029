#include "core/engine/Describe.h"

#include "core/plan/Status.h"

using namespace etc::plan;
using fb::OpKind;

static uint32_t peerOf(const PlanIndex &index, Participant participant,
                       const fb::Op &op) {
  const auto &peers = *index.program(participant.program).peers();
  return *index.rankOf(
      peers.Get(op.peer())->devices()->Get(participant.replica));
}

std::string etc::runtime::describeMessage(const PlanIndex &index, uint32_t rank,
                                          uint32_t peer, uint32_t round,
                                          OpKind kind) {
  const Participant participant = index.participant(rank);
  const auto &rounds = *index.program(participant.program).rounds();
  std::string first = "a message";
  uint32_t count = 0;
  if (round < rounds.size())
    for (const fb::Op *op : *rounds.Get(round)->ops())
      if (op->kind() == kind && peerOf(index, participant, *op) == peer &&
          count++ == 0)
        first = index.describeTensor(op->tensor()) + describe(index.opBox(*op));
  return text(first, count > 1 ? text(" and ", count - 1, " more") : "",
              kind == OpKind::send ? " to device " : " from device ",
              index.device(peer));
}

std::string etc::runtime::describeLoss(const PlanIndex &index, uint32_t rank,
                                       uint32_t round) {
  const Participant participant = index.participant(rank);
  const auto &rounds = *index.program(participant.program).rounds();
  if (round < rounds.size())
    for (const fb::Op *op : *rounds.Get(round)->ops())
      if (op->kind() == OpKind::send || op->kind() == OpKind::recv)
        return text("round ", round, ": transfer of ",
                    describeMessage(index, rank,
                                    peerOf(index, participant, *op), round,
                                    op->kind()));
  return text("round ", round);
}
