// Bytes spread over resources so that the slowest is done soonest.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_SPREAD_H
#define ETC_LIB_OPTIMIZE_ROUTING_SPREAD_H

#include "etc/Optimize/Routing/Problem.h"

#include <utility>
#include <vector>

namespace etc::routing {

/// A device that may carry bytes of a lot, and the resource that this takes:
/// its NIC, or its link. Lower tiers cost less elsewhere, and come first.
struct Option {
  int32_t device;
  int32_t resource;
  int32_t tier;
};

struct Share {
  int32_t option;
  int64_t bytes;
};

/// Bytes that devices share as they like.
struct Lot {
  int32_t options; ///< a list
  int64_t bytes;
  std::vector<Share> shares; ///< they add up to `bytes`
};

/// How lots that are late are split: each beside all others as they are; or
/// after all of them have made room; or after others in their way have, too,
/// those with the least choice first. The first disturbs least, the second
/// finds even splits where one lot is late because of others, and the third
/// takes the fewest detours.
enum class Order : uint8_t { InTurn, Together, ByChoice };

/// Lots, and the resources that carry them.
class Spread {
public:
  /// `rates`: bytes a second, by resource.
  explicit Spread(std::vector<int64_t> rates)
      : rates(std::move(rates)), loads(this->rates.size()) {}

  /// Lists are shared by lots: what many copies of an atom may take is stated
  /// once. Options are ascending by tier.
  int32_t addOptions(std::vector<Option> list) {
    options.push_back(std::move(list));
    return static_cast<int32_t>(options.size() - 1);
  }
  int32_t addLot(int32_t list, int64_t bytes) {
    lots.push_back({list, bytes, {}});
    return static_cast<int32_t>(lots.size() - 1);
  }

  /// Shares all lots. Those that fit in `target` stay whole, on options of the
  /// first tier; others are split evenly among as few as can be; where this is
  /// slower than the target, a maximum flow finds the least time that is.
  void solve(Time target, Order order);

  /// Devices and bytes of a lot, ascending by device.
  std::vector<std::pair<int32_t, int64_t>> partsOf(int32_t lot) const;

private:
  friend class SpreadFlow;
  int64_t roomOf(int32_t resource, Time target) const;
  void putWhole();
  bool isLate(const Lot &lot, Time target) const;
  std::vector<size_t> findLate(Time target) const;
  int64_t countFirstTier(const Lot &lot) const;
  std::vector<size_t> findByChoice(Time target) const;
  void divide(Time target, Order order);
  void divideLots(const std::vector<size_t> &numbers, Time target);
  bool divideLot(Lot &lot, Time target);
  void put(Lot &lot, int32_t option, int64_t bytes);
  void take(Lot &lot);

  std::vector<int64_t> rates, loads; ///< [resource]
  std::vector<std::vector<Option>> options;
  std::vector<Lot> lots;
};

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_SPREAD_H
