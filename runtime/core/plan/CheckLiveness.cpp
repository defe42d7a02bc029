// R4: a previous shard is read only until its release, and released once; R5:
// what is read from a current shard was written in earlier rounds.

#include "core/plan/RefereeRules.h"

using namespace etc;
using namespace etc::plan;

namespace {

/// The round in which something happened to a previous shard.
constexpr uint32_t kNever = ~uint32_t{0};

class LivenessChecker {
public:
  LivenessChecker(const PlanIndex &index, uint32_t program,
                  const Writes &writes)
      : index(index), program(program), writes(writes),
        written(index.holdings(program, Side::Curr).size()),
        released(index.holdings(program, Side::Prev).size(), kNever),
        bound(released) {}

  Status run() {
    for (uint32_t r = 0; r != roundsOf(index, program); ++r) {
      // Releases come last in a round, wherever they are listed.
      if (Status s = checkOps(r, /*areReleases=*/false); !s.ok())
        return s;
      if (Status s = checkOps(r, /*areReleases=*/true); !s.ok())
        return s;
    }
    return Status::success();
  }

private:
  /// The releases of a round, or all others.
  Status checkOps(uint32_t round, bool areReleases) {
    const auto &ops = opsOf(index, program, round);
    for (uint32_t o = 0; o != ops.size(); ++o) {
      const fb::Op &op = *ops.Get(o);
      if ((op.kind() == fb::OpKind::release) != areReleases)
        continue;
      if (Status s =
              areReleases ? checkRelease(round, op) : checkRead(round, op);
          !s.ok())
        return s.at(opPath(program, round, o));
    }
    return Status::success();
  }

  Status checkRead(uint32_t round, const fb::Op &op) {
    if (op.transit())
      return Status::success(); // R9's
    if (op.kind() == fb::OpKind::derive || op.from_curr())
      return checkWritten(round, op);
    if (op.kind() != fb::OpKind::send && op.kind() != fb::OpKind::refer)
      return Status::success();
    size_t position = *index.find(program, Side::Prev, op.source());
    if (released[position] != kNever)
      return malformed("read after release: round ", released[position],
                       " released ", index.describeTensor(op.source()));
    if (index.bindsMemory(program, op))
      bound[position] = round;
    return Status::success();
  }

  /// Writes are disjoint, so a box is complete once the common volumes add up
  /// to its own.
  Status checkWritten(uint32_t round, const fb::Op &op) {
    BoxView box = index.opBox(op);
    const size_t holding = *index.find(program, Side::Curr, op.source());
    if (!written[holding])
      written[holding].emplace(writes[holding]);
    const auto [before, now] = written[holding]->count(box, round);
    if (before == volume(box))
      return Status::success();
    const std::string what =
        describe(box) + " of " + index.describeTensor(op.source());
    const char *verb = op.from_curr() ? "relays " : "derives from ";
    if (before + now == volume(box))
      return malformed(verb, what, " in round ", round,
                       ", the round that writes it; the next one can");
    return malformed(verb, what, " before it is written");
  }

  Status checkRelease(uint32_t round, const fb::Op &op) {
    if (op.transit())
      return Status::success();
    size_t position = *index.find(program, Side::Prev, op.tensor());
    if (released[position] != kNever)
      return malformed("releases ", index.describeTensor(op.tensor()),
                       ", which round ", released[position], " released");
    if (bound[position] != kNever)
      return malformed("releases ", index.describeTensor(op.tensor()),
                       ", whose memory round ", bound[position],
                       " bound as the current shard");
    released[position] = round;
    return Status::success();
  }

  const PlanIndex &index;
  const uint32_t program;
  const Writes &writes;
  /// Parallel to the current holdings, of those that are read.
  std::vector<std::optional<WrittenBoxes>> written;
  /// Parallel to the previous holdings.
  std::vector<uint32_t> released, bound;
};

} // namespace

Status etc::plan::checkLiveness(const PlanIndex &index, uint32_t program,
                                const Writes &writes) {
  return LivenessChecker(index, program, writes).run();
}
