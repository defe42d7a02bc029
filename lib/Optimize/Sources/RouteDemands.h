//===- RouteDemands.h - Demands as a routing problem ----------------------===//

#ifndef ETC_LIB_OPTIMIZE_SOURCES_ROUTEDEMANDS_H
#define ETC_LIB_OPTIMIZE_SOURCES_ROUTEDEMANDS_H

#include "etc/Optimize/Sources/Solver.h"

#include <optional>

namespace etc {

/// The same demands along the routes that lib/Optimize/Routing finds for the
/// rates of an H100, cut where these divide them; nothing where they would not
/// be much faster than `choice`, or send more between nodes.
std::optional<SourcedDemands> routeDemands(const Demands &demands,
                                           const SourceChoice &choice,
                                           const Fleet &fleet);

} // namespace etc

#endif // ETC_LIB_OPTIMIZE_SOURCES_ROUTEDEMANDS_H
