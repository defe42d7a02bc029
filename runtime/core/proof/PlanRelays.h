// What has to enter nodes where devices pass on.

#ifndef ETC_PROOF_PLANRELAYS_H
#define ETC_PROOF_PLANRELAYS_H

#include "core/plan/PlanIndex.h"

namespace etc {

/// Bytes that enter nodes in any plan, at least, where devices have to get
/// `lacking` bytes from other nodes. A byte that enters a node can serve all
/// devices there that have it in the end, and at best the lacking bytes are the
/// ones that most devices have.
uint64_t leastEntering(const plan::PlanIndex &index, uint64_t lacking);

} // namespace etc

#endif // ETC_PROOF_PLANRELAYS_H
