//===- SpreadSources.h - Several senders of one fragment ------------------===//

#ifndef ETC_LIB_TRANSFORMS_SPREADSOURCES_H
#define ETC_LIB_TRANSFORMS_SPREADSOURCES_H

#include "ChooseSources.h"

namespace etc {

/// Demands, and their sources.
struct SourcedDemands {
  Demands demands;
  SourceChoice choice;
};

/// The same transfers from holders that send no more than the least that the
/// busiest can: what a holder is relieved of is cut off its fragments, at whole
/// positions of an axis. What stays within its sender's share is not cut.
SourcedDemands spreadSources(const Demands &demands, const SourceChoice &choice,
                             const Devices &devices, const Holdings &prev);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_SPREADSOURCES_H
