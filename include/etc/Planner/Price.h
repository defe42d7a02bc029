//===- Price.h - What a placement costs over the free one -------*- C++ -*-===//

#ifndef ETC_PLANNER_PRICE_H
#define ETC_PLANNER_PRICE_H

#include "dialect/Etc.h"
#include "etc/Planner/PlanRequest.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>

namespace etc {

/// Bytes more, in all and between nodes, and seconds more that are predicted.
/// Not inside Price: Clang 14 can't construct an optional of it there.
struct PriceBytes {
  int64_t moved = 0, internode = 0;
  std::optional<double> seconds;
  /// State is deferred, and the seconds are the pause's; bytes are of all.
  bool ofPause = false;
};

/// What a plan takes more than one of the same request whose roles may go
/// anywhere; negative: less.
struct Price {
  Place place;
  /// Whether the plan has relays, but both sides of the price are without them.
  bool hasRelays = false;
  /// Nothing where there is no plan with roles anywhere.
  std::optional<PriceBytes> bytes;
};

/// The price of the only plan of a request. Plans once more, unless roles would
/// stay where they are; a plan that is not better has no price. Instead of a
/// large plan, only its placement is found, without relays and seconds. Nothing
/// for several plans, and where roles may go anywhere anyway, or devices are
/// given.
std::optional<Price> priceOf(const request::Request &request,
                             PlannedRequest &planned);

/// As a line of the summary.
void writePrice(const Price &price, llvm::raw_ostream &os);

/// {"place", "relays_aside", "moved_bytes", "internode_bytes", "seconds",
/// "of_pause"}: bytes and seconds are null where they are not known. "null"
/// where there is no price.
void writePriceJson(const std::optional<Price> &price, llvm::raw_ostream &os);

} // namespace etc

#endif // ETC_PLANNER_PRICE_H
