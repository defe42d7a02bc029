//===- SpreadSources.h - Several senders of one fragment ------------------===//

#ifndef ETC_LIB_OPTIMIZE_SOURCES_SPREADSOURCES_H
#define ETC_LIB_OPTIMIZE_SOURCES_SPREADSOURCES_H

#include "etc/Optimize/Sources/Solver.h"

namespace etc {

/// The same transfers from holders that send no more than the least that the
/// busiest can: what a holder is relieved of is cut off its fragments, at whole
/// positions of an axis. What stays within its sender's share is not cut.
SourcedDemands spreadSources(const Demands &demands, const SourceChoice &choice,
                             const Fleet &fleet);

} // namespace etc

#endif // ETC_LIB_OPTIMIZE_SOURCES_SPREADSOURCES_H
