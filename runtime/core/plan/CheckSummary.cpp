// R7: summary, forecast and placement follow from the programs.

#include "core/plan/Configuration.h"
#include "core/plan/RefereeRules.h"
#include "core/plan/Totals.h"

#include <algorithm>

using namespace etc::plan;

namespace {

class SummaryChecker {
public:
  explicit SummaryChecker(const PlanIndex &index)
      : index(index), totals(index), rounds(totals.rounds) {}

  Status run() const {
    if (Status s = checkVolumes(); !s.ok())
      return s;
    if (Status s = checkBounds(); !s.ok())
      return s;
    if (Status s = checkForecast(); !s.ok())
      return s;
    if (Status s = checkPlacement(Side::Prev); !s.ok())
      return s;
    return checkPlacement(Side::Curr);
  }

private:
  static Status compare(const std::string &path, uint64_t actual,
                        uint64_t stated) {
    return actual == stated
               ? Status::success()
               : malformed(path, ": is ", actual, ", the plan states ", stated);
  }

  Status checkVolumes() const {
    const fb::Summary &stated = *index.plan().summary();
    struct Volume {
      const char *name;
      uint64_t actual, stated;
    };
    for (const Volume &volume : {
             Volume{"moved_bytes", totals.moved, stated.moved_bytes()},
             Volume{"kept_bytes", totals.kept, stated.kept_bytes()},
             Volume{"zeroed_bytes", totals.zeroed, stated.zeroed_bytes()},
             Volume{"derived_bytes", totals.derived, stated.derived_bytes()},
             Volume{"internode_bytes", totals.internode,
                    stated.internode_bytes()},
             Volume{"transit_bytes", totals.transit, stated.transit_bytes()},
             Volume{"max_send_bytes", totals.maxSend, stated.max_send_bytes()},
             Volume{"max_recv_bytes", totals.maxRecv, stated.max_recv_bytes()},
         })
      if (Status s = compare(text("summary.", volume.name), volume.actual,
                             volume.stated);
          !s.ok())
        return s;
    return compare("summary: moved - transit + kept + zeroed + derived",
                   totals.moved - totals.transit + totals.kept + totals.zeroed +
                       totals.derived,
                   totals.held);
  }

  /// A bound that the plan itself goes below is none.
  Status checkBounds() const {
    const fb::Summary &stated = *index.plan().summary();
    auto check = [](const char *name, uint64_t bound, uint64_t actual) {
      return bound <= actual ? Status::success()
                             : malformed("summary.", name, ": ", bound,
                                         " is above the plan's own ", actual);
    };
    if (Status s = check("bound_moved_bytes", stated.bound_moved_bytes(),
                         totals.moved);
        !s.ok())
      return s;
    if (Status s = check("bound_internode_bytes",
                         stated.bound_internode_bytes(), totals.internode);
        !s.ok())
      return s;
    return check("bound_bottleneck_bytes", stated.bound_bottleneck_bytes(),
                 std::max(totals.maxSend, totals.maxRecv));
  }

  /// Paths are made up for errors only: there may be many rounds.
  static Status under(uint32_t round, const Status &error) {
    return {error.kind(), text("forecast[", round, "]", error.message())};
  }

  Status checkForecast() const {
    for (uint32_t r = 0; r != rounds.size(); ++r) {
      const fb::RoundForecast &stated = *index.plan().forecast()->Get(r);
      if (Status s =
              compare(".moved_bytes", rounds[r].moved, stated.moved_bytes());
          !s.ok())
        return under(r, s);
      if (Status s = compare(".max_port_bytes", rounds[r].busiest,
                             stated.max_port_bytes());
          !s.ok())
        return under(r, s);
    }
    return Status::success();
  }

  /// Ranks are on distinct devices, and include the participants that hold
  /// state of the side. A stage may be empty: a rank of curr takes part, but
  /// need not hold anything. Others of prev may be dead.
  Status checkPlacement(Side side) const {
    const bool isCurr = side == Side::Curr;
    const auto &placement = isCurr ? *index.plan().curr_placement()
                                   : *index.plan().prev_placement();
    const std::string path = isCurr ? "curr_placement" : "prev_placement";
    std::vector<uint32_t> devices(placement.begin(), placement.end());
    std::sort(devices.begin(), devices.end());
    auto twice = std::adjacent_find(devices.begin(), devices.end());
    if (twice != devices.end())
      return malformed(path, ": two ranks are on device ", *twice);
    auto isPlaced = [&](uint32_t device) {
      return std::binary_search(devices.begin(), devices.end(), device);
    };
    for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
      if (isPlaced(index.device(rank)))
        continue;
      if (holds(rank, side))
        return malformed(path, ": device ", index.device(rank), " holds ",
                         isCurr ? "current" : "previous",
                         " state and has no rank");
      if (const fb::Role *role = roleOf(rank, side))
        return malformed(path, ": device ", index.device(rank),
                         " has the role ", describe(role), " and no rank");
    }
    if (isCurr)
      for (uint32_t r = 0; r != placement.size(); ++r)
        if (!index.rankOf(placement[r]))
          return malformed(path, "[", r, "]: device ", placement[r],
                           " is no participant");
    return checkRoles(side, placement, path);
  }

  /// A program's role is that of the rank on its devices. A device that holds
  /// nothing need not have the role that its previous rank had: it may be a
  /// failed one's.
  Status checkRoles(Side side, const flatbuffers::Vector<uint32_t> &placement,
                    const std::string &path) const {
    const bool isCurr = side == Side::Curr;
    const fb::Configuration &grid =
        isCurr ? *index.plan().curr() : *index.plan().prev();
    for (uint32_t r = 0; r != placement.size(); ++r) {
      const auto participant = index.rankOf(placement[r]);
      if (!participant)
        continue;
      const fb::Role *role = roleOf(*participant, side);
      if (role ? numberOfRole(grid, *role) != roleOfRank(grid, r)
               : isCurr || holds(*participant, side))
        return malformed(path, "[", r, "]: device ", placement[r],
                         " has the role ", describe(role),
                         ", which is not that of the rank");
    }
    return Status::success();
  }

  const fb::Role *roleOf(uint32_t rank, Side side) const {
    const fb::Program &program = index.program(index.participant(rank).program);
    return side == Side::Curr ? program.curr_role() : program.prev_role();
  }

  bool holds(uint32_t rank, Side side) const {
    return !index.holdings(index.participant(rank).program, side).empty();
  }

  const PlanIndex &index;
  const Totals totals;
  const std::vector<Totals::Round> &rounds;
};

} // namespace

Status etc::plan::checkSummary(const PlanIndex &index) {
  return SummaryChecker(index).run();
}
