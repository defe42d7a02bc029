#include "core/engine/WireCounts.h"

#include "core/engine/RoundOverlap.h"

#include <algorithm>

using namespace etc::runtime;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

namespace {

/// One round of a program.
struct RoundCounts {
  uint64_t messages = 0, pieces = 0;       // sent
  uint64_t allMessages = 0, allPieces = 0; // received ones too
  uint64_t sentBytes = 0;
};

RoundCounts countRound(const PlanIndex &index, uint32_t program,
                       uint32_t round) {
  const auto &stated = index.program(program);
  RoundCounts counts;
  for (OpKind kind : {OpKind::send, OpKind::recv}) {
    // Which pieces are staged makes no difference to their number.
    std::vector<MessagePieces> messages(stated.peers()->size(),
                                        MessagePieces(1, 0));
    uint64_t pieces = 0;
    for (const Op *op : *stated.rounds()->Get(round)->ops())
      if (op->kind() == kind)
        pieces += messages[op->peer()].add(index.opBytes(*op), false).isNew;
    const uint64_t used = std::ranges::count_if(
        messages, [](const MessagePieces &each) { return each.bytes() > 0; });
    counts.allMessages += used;
    counts.allPieces += pieces;
    if (kind == OpKind::recv)
      continue;
    counts.messages = used;
    counts.pieces = pieces;
    for (const MessagePieces &each : messages)
      counts.sentBytes += each.bytes();
  }
  return counts;
}

} // namespace

WireCounts etc::runtime::countWire(const PlanIndex &index, Mode mode) {
  WireCounts all;
  for (uint32_t program = 0; program != index.programCount(); ++program) {
    const Staging staging(index, program, 0);
    const RoundOverlap overlap(index, program, mode, staging);
    const uint64_t devices = index.program(program).devices()->size();
    const uint32_t rounds = index.program(program).rounds()->size();
    uint64_t before = 0; // bytes of the last round
    for (uint32_t round = 0; round != rounds; ++round) {
      const RoundCounts counts = countRound(index, program, round);
      const bool isEarly = overlap.mayBeginEarly(round);
      all.inFlightBytes = std::max(all.inFlightBytes,
                                   counts.sentBytes + (isEarly ? before : 0));
      before = counts.sentBytes;
      if (counts.allMessages == 0)
        continue;
      all.rounds += devices;
      all.earlyRounds += isEarly ? devices : 0;
      all.messages += devices * counts.messages;
      all.pieces += devices * counts.pieces;
      all.sentBytes += devices * counts.sentBytes;
      all.mostMessages = std::max(all.mostMessages, counts.allMessages);
      all.mostPieces = std::max(all.mostPieces, counts.allPieces);
    }
  }
  return all;
}
