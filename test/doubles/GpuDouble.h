// A test double of the CUDA driver and of NCCL, for machines without a GPU: it
// moves host memory and finds misuse that NCCL does not. It proves nothing
// about speed. Both are one library, since transfers belong to streams.

#ifndef ETC_TEST_GPUDOUBLE_H
#define ETC_TEST_GPUDOUBLE_H

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace etc::test {

struct DoubleStream;

/// A point of a stream: after so many of its transfers.
struct DoubleEvent {
  DoubleStream *stream = nullptr; // null: not recorded, which is done
  unsigned transfers = 0;
};

/// A stream: work is done at once, except transfers that wait for a peer, and
/// what comes after these or after other streams.
struct DoubleStream {
  unsigned pending = 0; // transfers not yet done
  int device = 0;
  unsigned done = 0;                // transfers
  std::vector<DoubleEvent> awaited; // by what comes next

  void finishTransfer() { --pending, ++done; }
};

/// What all of the double shares.
struct DoubleState {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<DoubleStream *> streams;
  std::string fault; // the first misuse
};

DoubleState &doubleState();

/// The device of the calling thread's context, or -1.
int doubleDevice();

/// Called with the lock held.
void recordFault(const std::string &what);

/// Called when a stream with transfers under way is asked for or waited for:
/// looks for a deadlock. Defined by NCCL's half; the lock is held.
void onStreamWait(DoubleStream *stream);

/// Whether a transfer under way reads or writes some of these bytes. Defined by
/// NCCL's half; the lock is held.
bool isUnderTransfer(const void *data, size_t bytes);

} // namespace etc::test

extern "C" {
/// The first misuse since the last call, or "". The text lives until the next.
const char *etcDoubleTakeFault();
/// Kernel launches, and pages of device memory now mapped.
unsigned etcDoubleLaunches();
unsigned etcDoubleMappedPages();
/// Groups that had to connect first.
unsigned etcDoubleHandshakes();
/// Channels of a pair of ranks in a job of 8 x 8 H100, with the settings of the
/// last communicator.
unsigned etcDoubleChannelsAPair();
}

#endif // ETC_TEST_GPUDOUBLE_H
