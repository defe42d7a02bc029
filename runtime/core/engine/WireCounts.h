// What a GPU's rounds ask of NCCL, counted from a plan.

#ifndef ETC_RUNTIME_CORE_ENGINE_WIRECOUNTS_H
#define ETC_RUNTIME_CORE_ENGINE_WIRECOUNTS_H

#include "core/journal/Journal.h"
#include "core/plan/PlanIndex.h"

namespace etc::runtime {

/// The most that one device has, over all devices and rounds, and sums over
/// these. A round is a group of NCCL's.
struct WireCounts {
  uint64_t rounds = 0;       // that send or receive, over all devices
  uint64_t earlyRounds = 0;  // of these, begun before the last one has ended
  uint64_t messages = 0;     // of all rounds, sent ones
  uint64_t pieces = 0;       // of these, a call of ncclSend each
  uint64_t mostMessages = 0; // in a round of a device, sent and received
  uint64_t mostPieces = 0;   // likewise
  uint64_t sentBytes = 0;    // of all rounds
  uint64_t inFlightBytes =
      0; // sent by a device in the groups under way at once
};

WireCounts countWire(const plan::PlanIndex &index, Mode mode);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_WIRECOUNTS_H
