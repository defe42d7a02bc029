// Which rounds may begin before the one before them has ended.

#ifndef ETC_RUNTIME_CORE_ENGINE_ROUNDOVERLAP_H
#define ETC_RUNTIME_CORE_ENGINE_ROUNDOVERLAP_H

#include "core/device/Worker.h"
#include "core/engine/Staging.h"
#include "core/journal/Journal.h"

#include <vector>

namespace etc::runtime {

/// Round r + 1 is packed and posted before round r has ended where
///  - what both have in the slabs lies apart;
///  - what r + 1 allocates fits into the proved peak before r has released
///    anything, and allocating does not wait for transfers.
/// Each device decides for itself: messages match in their order, whenever they
/// are posted. Where r + 1 reads what r writes, the device does one after the
/// other; should that turn out to be damaged, the hash of r + 1 is never told,
/// and nobody takes its messages for whole.
class RoundOverlap {
public:
  /// `mayAllocate`: whether memory can be had while transfers are under way.
  RoundOverlap(const PlanIndex &index, uint32_t program, Mode mode,
               const Staging &staging, bool mayAllocate = true);

  /// Whether `round`, which is not the first, may.
  bool mayBeginEarly(uint32_t round) const { return isEarly[round]; }
  /// Whether it reads what the round before it writes.
  bool readsLast(uint32_t round) const { return reads[round]; }

private:
  std::vector<bool> isEarly, reads; // by round
};

/// Whether all that stays gets its memory before the first round: on devices
/// whose memory takes long to map, where nothing is released before the commit
/// or what is released makes no room. Files are made when they are written:
/// they say what has landed. What is only passed on is released, and the proved
/// peak counts on it.
bool allocatesAhead(const PlanIndex &index, uint32_t program, Mode mode,
                    Worker &worker);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_ROUNDOVERLAP_H
