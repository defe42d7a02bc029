// R9: what a program passes on without keeping it. A transit shard is read
// after it was written, and released once, after the last read.

#include "core/plan/RefereeRules.h"

using namespace etc;
using namespace etc::plan;

namespace {

constexpr uint32_t kNever = ~uint32_t{0};

class TransitChecker {
public:
  TransitChecker(const PlanIndex &index, uint32_t program, const Writes &writes)
      : index(index), program(program), writes(writes),
        shards(index.holdings(program, Side::Transit).size()) {}

  Status run() {
    if (shards.empty()) // of most programs
      return Status::success();
    for (uint32_t r = 0; r != roundsOf(index, program); ++r) {
      const auto &ops = opsOf(index, program, r);
      for (uint32_t o = 0; o != ops.size(); ++o)
        if (Status s = check(r, *ops.Get(o)); !s.ok())
          return s.at(opPath(program, r, o));
    }
    for (size_t i = 0; i != shards.size(); ++i)
      if (Status s = checkEnd(i); !s.ok())
        return s;
    return Status::success();
  }

private:
  struct Uses {
    uint32_t released = kNever, lastRead = kNever;
    std::optional<WrittenBoxes> written; ///< once some is read
  };

  Status check(uint32_t round, const fb::Op &op) {
    if (!op.transit())
      return Status::success();
    if (op.kind() == fb::OpKind::send)
      return checkRead(round, op);
    Uses &uses = shards[*index.find(program, Side::Transit, op.tensor())];
    if (op.kind() == fb::OpKind::release) {
      if (uses.released != kNever)
        return malformed("releases the transit shard of ",
                         index.describeTensor(op.tensor()), ", which round ",
                         uses.released, " released");
      uses.released = round;
    }
    return Status::success();
  }

  /// Writes are disjoint, so a box is complete once the common volumes add up
  /// to its own.
  Status checkRead(uint32_t round, const fb::Op &op) {
    const size_t position = *index.find(program, Side::Transit, op.source());
    const BoxView box = index.opBox(op);
    Uses &uses = shards[position];
    if (!uses.written)
      uses.written.emplace(writes[position]);
    if (uses.written->count(box, round).before != volume(box))
      return malformed("passes on ", describe(box), " of ",
                       index.describeTensor(op.source()),
                       ", which has not arrived in an earlier round");
    uses.lastRead = round;
    return Status::success();
  }

  /// A write behind the release would allocate the shard a second time.
  Status checkEnd(size_t position) const {
    const Uses &uses = shards[position];
    auto name = [&] {
      return text("programs[", program, "]: the transit shard of ",
                  index.describeTensor(
                      index.holdings(program, Side::Transit)[position].tensor));
    };
    if (uses.lastRead == kNever)
      return malformed(name(), " is never passed on");
    if (uses.released == kNever)
      return malformed(name(), " is never released");
    uint32_t last = uses.lastRead;
    for (const Write &write : writes[position])
      last = std::max(last, write.round);
    if (uses.released < last)
      return malformed(name(), " is released in round ", uses.released,
                       ", and used in round ", last);
    return Status::success();
  }

  const PlanIndex &index;
  const uint32_t program;
  const Writes &writes;
  std::vector<Uses> shards; ///< parallel to the transit holdings
};

} // namespace

Status etc::plan::checkTransit(const PlanIndex &index, uint32_t program,
                               const Writes &writes) {
  return TransitChecker(index, program, writes).run();
}
