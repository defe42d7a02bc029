// Who receives what from whom, while it changes.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_RECEIPTS_H
#define ETC_LIB_OPTIMIZE_ROUTING_RECEIPTS_H

#include "etc/Optimize/Routing/Solution.h"

#include <map>
#include <vector>

namespace etc::routing {

/// Bytes [begin, end) that a device receives from another one.
struct Receipt {
  int64_t begin, end;
  int32_t from;
};

/// The hops of a solution by atom and receiver, and what each resource carries.
class Receipts {
public:
  Receipts(const Problem &problem, const std::vector<Hop> &hops);

  /// The hops that they are, without stages.
  std::vector<Hop> toHops() const;

  /// The resources of a hop: that of its sender, and that of its receiver.
  std::pair<int32_t, int32_t> resourcesOf(int32_t from, int32_t to) const;
  const std::vector<int64_t> &getLoads() const { return loads; }
  const std::vector<int64_t> &getRates() const { return rates; }
  Time findSlowest() const;

  using ByDevice = std::map<int32_t, std::vector<Receipt>>;
  const ByDevice &of(int32_t atom) const { return all[atom]; }
  bool holds(int32_t atom, int32_t device) const;
  bool needs(int32_t atom, int32_t device) const;
  /// Up to which byte a device has [begin, end) without having it from `other`,
  /// `begin` where it has none of it so; and how often it was received then.
  int64_t findReach(int32_t atom, int32_t device, int32_t other, int64_t begin,
                    int64_t end, int &depth) const;
  /// Whether a device receives nothing of [begin, end), nor holds it.
  bool isFree(int32_t atom, int32_t device, int64_t begin, int64_t end) const;

  /// A device receives [begin, end), of which it receives nothing.
  void add(int32_t atom, int32_t device, Receipt receipt);
  /// It receives [begin, end) from this device, and not from who sends it now.
  /// Devices in transit don't receive any more what they pass on to nobody.
  void replace(int32_t atom, int32_t device, Receipt receipt);

private:
  std::vector<int64_t> findBreaks(size_t atom) const;
  void load(int32_t from, int32_t to, int64_t bytes);
  std::vector<Receipt> cutOut(int32_t atom, int32_t device, int64_t begin,
                              int64_t end);
  void prune(int32_t atom, int32_t device, int64_t begin, int64_t end);

  const Problem &problem;
  std::vector<ByDevice> all; ///< [atom], receipts ascending
  /// Links out, links in, NICs out, NICs in.
  std::vector<int64_t> loads, rates;
};

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_RECEIPTS_H
