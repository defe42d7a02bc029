// Which rounds may begin before the one before them has ended.

#ifndef ETC_RUNTIME_ENGINE_ROUNDOVERLAP_H
#define ETC_RUNTIME_ENGINE_ROUNDOVERLAP_H

#include "engine/Staging.h"
#include "journal/Journal.h"

#include <vector>

namespace etc::runtime {

/// Round r + 1 is packed and posted before round r has ended where
///  - what both have in the slabs lies apart;
///  - what r + 1 allocates fits into the proved peak before r has released
///    anything.
/// Each device decides for itself: messages match in their order, whenever they
/// are posted. Where r + 1 reads what r writes, the device does one after the
/// other; should that turn out to be damaged, the hash of r + 1 is never told,
/// and nobody takes its messages for whole.
class RoundOverlap {
public:
  RoundOverlap(const PlanIndex &index, uint32_t program, Mode mode,
               const Staging &staging);

  /// Whether `round`, which is not the first, may.
  bool mayBeginEarly(uint32_t round) const { return isEarly[round]; }
  /// Whether it reads what the round before it writes.
  bool readsLast(uint32_t round) const { return reads[round]; }

private:
  std::vector<bool> isEarly, reads; // by round
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_ENGINE_ROUNDOVERLAP_H
