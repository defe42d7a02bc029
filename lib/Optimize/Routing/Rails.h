// Between nodes: which NICs send and receive which bytes.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_RAILS_H
#define ETC_LIB_OPTIMIZE_ROUTING_RAILS_H

#include "Layout.h"
#include "Nodes.h"
#include "Spread.h"
#include "etc/Optimize/Routing/Solution.h"

#include <map>
#include <vector>

namespace etc::routing {

/// An interval that some devices of a node have, by holding it or by what
/// arrived from another node, and others of it get over links.
struct Part {
  int32_t atom;
  int64_t begin, end;
  int32_t depth; ///< nodes that it came through
  std::vector<int32_t> sources;
  /// Those that send it on to other nodes come first.
  std::vector<int32_t> exits, others;

  bool isAlike(const Part &part) const {
    return depth == part.depth && sources == part.sources &&
           exits == part.exits && others == part.others;
  }
};

/// Every lacking node gets an atom once, through the NICs of devices that need
/// it, and nodes that have got it send it on, so that no NIC takes longer than
/// the least time of all.
class Rails {
public:
  Rails(const Problem &problem, Time target, Order order);

  /// Hops between nodes, without stages.
  std::vector<Hop> hops;
  /// What is left to do on nodes.
  std::vector<Part> parts;

private:
  /// The lots of an atom.
  struct Lots {
    std::vector<std::pair<size_t, int32_t>> entries; ///< of a node share
    std::vector<int32_t> copies;
  };
  /// Where an atom's stripes are on their way.
  struct Stripes {
    std::vector<Layout> entries, copies;
    std::map<int32_t, Part> open; ///< by node
  };

  void poseEntries(size_t atom);
  void poseCopies(size_t atom);
  std::vector<Option> exitsOf(const NodeShare &share, bool mayTransit) const;
  void stripe(size_t atom);
  void addStripe(size_t atom, Stripes &stripes, int64_t begin, int64_t end);
  void addPart(Stripes &stripes, int32_t node, Part part);

  const Problem &problem;
  std::vector<std::vector<int32_t>> participants; ///< [node]
  std::vector<std::vector<NodeShare>> nodes;      ///< [atom]
  std::vector<Lots> lots;                         ///< [atom]
  Spread in, out;
};

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_RAILS_H
