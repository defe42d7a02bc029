// R3: what a device sends to another in a round is what the other receives from
// it, in order. Devices of one program have equal ops, so that a pair of peer
// slots is compared once, however many pairs of devices use it.

#include "core/plan/RefereeRules.h"

#include <algorithm>

using namespace etc::plan;

namespace {

/// One message part that a program sends to, or receives from, a peer slot.
struct Part {
  uint32_t round;
  uint32_t index;
  const fb::Op *op;
};

/// A device's peer slot for another device.
struct Edge {
  uint32_t from, to, slot;
  auto operator<=>(const Edge &) const = default;
};

/// A program's peer slot, seen from the other end.
struct Receiver {
  uint32_t program, slot;
  bool operator==(const Receiver &) const = default;
};

/// What one program exchanges through a peer slot.
struct PeerMessages {
  std::vector<Part> sends, recvs;
  /// Receivers that the sends were compared with: one, unless replicas differ.
  std::vector<Receiver> compared;
};

class PairingChecker {
public:
  explicit PairingChecker(const PlanIndex &index) : index(index) {}

  Status run() {
    for (uint32_t p = 0; p != index.programCount(); ++p)
      slots.push_back(collectSlots(p));
    collectEdges();
    for (size_t i = 1; i < edges.size(); ++i)
      if (edges[i - 1].from == edges[i].from && edges[i - 1].to == edges[i].to)
        return malformed(slotPath(edges[i]), ": device ", edges[i].to,
                         " is in peers[", edges[i - 1].slot, "] already");
    for (const Edge &edge : edges)
      if (Status s = checkEdge(edge); !s.ok())
        return s;
    return Status::success();
  }

private:
  std::vector<PeerMessages> collectSlots(uint32_t program) const {
    std::vector<PeerMessages> found(index.program(program).peers()->size());
    for (uint32_t r = 0; r != roundsOf(index, program); ++r) {
      const auto &ops = opsOf(index, program, r);
      for (uint32_t o = 0; o != ops.size(); ++o) {
        const fb::Op *op = ops.Get(o);
        if (op->kind() == fb::OpKind::send)
          found[op->peer()].sends.push_back({r, o, op});
        else if (op->kind() == fb::OpKind::recv)
          found[op->peer()].recvs.push_back({r, o, op});
      }
    }
    return found;
  }

  void collectEdges() {
    for (uint32_t p = 0; p != index.programCount(); ++p) {
      const fb::Program &program = index.program(p);
      for (uint32_t s = 0; s != program.peers()->size(); ++s) {
        const auto &devices = *program.peers()->Get(s)->devices();
        for (uint32_t i = 0; i != devices.size(); ++i)
          edges.push_back({program.devices()->Get(i), devices[i], s});
      }
    }
    std::sort(edges.begin(), edges.end());
  }

  /// Compares what the edge's device sends with what the other one receives.
  Status checkEdge(const Edge &edge) {
    Edge back{edge.to, edge.from, 0};
    auto reverse = std::lower_bound(edges.begin(), edges.end(), back);
    if (reverse == edges.end() || reverse->from != back.from ||
        reverse->to != back.to)
      return malformed(slotPath(edge), ": device ", edge.to,
                       " does not have device ", edge.from, " as a peer");
    PeerMessages &sender = slots[programOf(edge.from)][edge.slot];
    Receiver receiver{programOf(edge.to), reverse->slot};
    if (std::find(sender.compared.begin(), sender.compared.end(), receiver) !=
        sender.compared.end())
      return Status::success();
    sender.compared.push_back(receiver);
    return compare(edge, sender.sends,
                   slots[receiver.program][receiver.slot].recvs);
  }

  Status compare(const Edge &edge, const std::vector<Part> &sends,
                 const std::vector<Part> &recvs) const {
    size_t common = std::min(sends.size(), recvs.size());
    for (size_t i = 0; i != common; ++i)
      if (!isSame(sends[i], recvs[i]))
        return mismatch(edge, &sends[i], &recvs[i]);
    if (sends.size() > common)
      return mismatch(edge, &sends[common], nullptr);
    if (recvs.size() > common)
      return mismatch(edge, nullptr, &recvs[common]);
    return Status::success();
  }

  bool isSame(const Part &a, const Part &b) const {
    return a.round == b.round && a.op->tensor() == b.op->tensor() &&
           a.op->source() == b.op->source() &&
           index.opBox(*a.op) == index.opBox(*b.op);
  }

  /// Where the two are of different rounds, the earlier one has no partner.
  Status mismatch(const Edge &edge, const Part *send, const Part *recv) const {
    if (send && recv && send->round < recv->round)
      recv = nullptr;
    if (send && recv && recv->round < send->round)
      send = nullptr;
    const std::string sending = text("device ", edge.from, " sends ");
    const std::string receiving = text("device ", edge.to, " receives ");
    if (!recv)
      return malformed(path(edge.from, *send), ": ", sending, describe(*send),
                       ", device ", edge.to, " does not receive it in round ",
                       send->round);
    if (!send)
      return malformed(path(edge.to, *recv), ": ", receiving, describe(*recv),
                       ", device ", edge.from, " does not send it in round ",
                       recv->round);
    return malformed(path(edge.to, *recv), ": ", receiving, describe(*recv),
                     " where device ", edge.from, " sends ", describe(*send));
  }

  std::string describe(const Part &part) const {
    std::string out = etc::describe(index.opBox(*part.op)) + " of " +
                      index.describeTensor(part.op->tensor());
    if (part.op->source() != part.op->tensor())
      out += " from " + index.describeTensor(part.op->source());
    return out;
  }

  std::string path(uint32_t device, const Part &part) const {
    return opPath(programOf(device), part.round, part.index);
  }

  std::string slotPath(const Edge &edge) const {
    Participant participant = index.participant(*index.rankOf(edge.from));
    return text("programs[", participant.program, "].peers[", edge.slot,
                "].devices[", participant.replica, "]");
  }

  uint32_t programOf(uint32_t device) const {
    return index.participant(*index.rankOf(device)).program;
  }

  const PlanIndex &index;
  std::vector<std::vector<PeerMessages>> slots; // by program
  std::vector<Edge> edges;
};

} // namespace

Status etc::plan::checkPairing(const PlanIndex &index) {
  return PairingChecker(index).run();
}
