//===- RoundPeaks.cpp - What rounds need of memory ------------------------===//

#include "RoundWriter.h"

using namespace etc;
using namespace mlir;

namespace {
/// The most that is live, in eager or in safe mode.
struct Watermark {
  int64_t live, most = live, inTail = 0;

  void beginTail() { inTail = live; }
  void take(int64_t taken, bool isTail) {
    live += taken;
    most = std::max(most, live);
    if (isTail)
      inTail = std::max(inTail, live);
  }
};
} // namespace

void RoundWriter::statePeaks(unsigned index, ProgramOp op) {
  const ProgramMemory &memory = flows.getMemories()[index];
  Watermark eager{memory.prev}, safe{memory.prev};
  int64_t sent = 0, received = 0;
  // A program may end before the tail begins.
  if (hasTail() && std::ssize(rounds) <= firstDeferred)
    rounds.resize(firstDeferred + 1);
  for (auto [number, round] : llvm::enumerate(rounds)) {
    const Bytes &bytes = round.bytes;
    const bool isTail = static_cast<int64_t>(number) >= firstDeferred;
    if (static_cast<int64_t>(number) == firstDeferred) {
      eager.beginTail();
      safe.beginTail();
    }
    eager.take(bytes.allocated + bytes.arrived, isTail);
    safe.take(bytes.allocated + bytes.arrived, isTail);
    // In safe mode nothing previous is released.
    eager.live -= bytes.released + bytes.passedOn;
    safe.live -= bytes.passedOn;
    sent = std::max(sent, bytes.sent);
    received = std::max(received, bytes.received);
  }
  op.setSendSlab(sent);
  op.setRecvSlab(received);
  op.setPeak(eager.most + sent + received);
  op.setPeakSafe(safe.most + sent + received);
  if (!hasTail())
    return;
  op.setTailPeak(eager.inTail + sent + received + memory.gradients);
  op.setTailPeakSafe(safe.inTail + sent + received + memory.gradients);
}
