// What tests ask of the doubles of driver and NCCL beside their own functions:
// looked up in the libraries by name.

#ifndef ETC_TEST_GPUDOUBLE_H
#define ETC_TEST_GPUDOUBLE_H

#include <cstddef>
#include <cstdint>

extern "C" {

// Of libcuda.so.1.

/// The first misuse since the last call, or "". The text lives until the next.
const char *etcDoubleTakeFault();
/// Kernel launches, and pages of device memory now mapped.
unsigned etcDoubleLaunches();
unsigned etcDoubleMappedPages();
/// Modules that were loaded and not unloaded.
unsigned etcDoubleModules();
/// Begins another order of what may happen in several: 0 does everything as
/// soon as it can be done. The first is ETC_DOUBLE_SEED, else 0.
void etcDoubleSeed(uint64_t seed);
/// Whether all streams of a device share one queue, as with
/// CUDA_DEVICE_MAX_CONNECTIONS=1. While nothing is on any stream.
void etcDoubleOneQueue(bool isShared);
/// From here on calls for a device that connect, register, create, release or
/// wait for the whole device are misuse, or no longer.
void etcDoubleWatch(unsigned device, bool isWatched);
/// The thread that holds the lock of the doubles, or 0. A process that is
/// stopped with it would stop the GPUs of all others.
int etcDoubleHolder();
/// Copies between host memory and memory of a device, aside from all streams.
void etcDoubleRead(void *host, const void *device, size_t bytes);
void etcDoubleWrite(void *device, const void *host, size_t bytes);

// Of libnccl.so.2.

/// Groups that had to connect first.
unsigned etcDoubleHandshakes();
/// Groups that the calling thread has begun and not ended.
unsigned etcDoubleOpenGroups();
/// Channels of a pair of ranks in a job of 8 x 8 H100, with the settings of the
/// last communicator.
unsigned etcDoubleChannelsAPair();
}

#endif // ETC_TEST_GPUDOUBLE_H
