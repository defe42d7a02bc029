//===- Price.h - What a placement costs over the free one -------*- C++ -*-===//

#ifndef ETC_PLANNER_PRICE_H
#define ETC_PLANNER_PRICE_H

#include "dialect/Etc.h"
#include "etc/Export/PlanFacts.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>

namespace etc {

/// Bytes more, in all and between nodes, and seconds more, if both are known of
/// both placements: of the node or device that receives longest. Not inside
/// Price: Clang 14 can't construct an optional of it there.
struct PriceBytes {
  int64_t moved = 0, internode = 0;
  std::optional<double> seconds;
};

/// What a placement moves more than one where roles may go anywhere does, under
/// the same objective; negative: less.
struct Price {
  Place place;
  /// Whether the plan has relays, but both sides of the price are without them.
  /// Where seconds are known, each byte enters a node once on both.
  bool hasRelays = false;
  /// Nothing where no plan was found with roles anywhere.
  std::optional<PriceBytes> bytes;
};

/// The price of a migration that was planned, and of which `plan` is the plan.
/// Nothing where roles may go anywhere anyway, or devices are given.
std::optional<Price> priceOf(MigrationOp migration, const plan::fb::Plan &plan,
                             bool totalFirst);
std::optional<Price> priceOf(MigrationOp migration, const PlanFacts &facts,
                             bool totalFirst);

/// As a line of the summary.
void writePrice(const Price &price, llvm::raw_ostream &os);

/// {"place", "relays_aside", "moved_bytes", "internode_bytes", "seconds"}: the
/// last three are null where they are not known. "null" where there is no
/// price.
void writePriceJson(const std::optional<Price> &price, llvm::raw_ostream &os);

} // namespace etc

#endif // ETC_PLANNER_PRICE_H
