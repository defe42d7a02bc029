//===- PortLoads.h - What the busiest links of a plan carry ---------------===//

#ifndef ETC_EXPORT_PORTLOADS_H
#define ETC_EXPORT_PORTLOADS_H

#include "core/plan/plan_generated.h"

#include <cstdint>

namespace etc {

/// The most bytes that any one device sends or receives, in one direction, over
/// links between nodes and over links inside its node.
struct PortLoads {
  uint64_t betweenNodes = 0, insideNode = 0;
};

PortLoads portLoads(const plan::fb::Plan &plan);

} // namespace etc

#endif // ETC_EXPORT_PORTLOADS_H
