// NCCL, looked up at run time. Types and values are those of its binary
// interface, declared here so that no header is needed to build; a test
// compares them with nccl.h where that is found.

#ifndef ETC_RUNTIME_TRANSPORT_NCCLLIBRARY_H
#define ETC_RUNTIME_TRANSPORT_NCCLLIBRARY_H

#include "device/CudaDriver.h"
#include "plan/Status.h"

#include <climits>
#include <cstddef>

namespace etc::runtime::nccl {

using plan::ErrorKind;
using plan::Result;
using plan::Status;

using Code = int; // ncclResult_t
constexpr Code kSuccess = 0;
constexpr Code kInProgress = 7;
constexpr int kBytes = 1; // ncclUint8
using Communicator = struct CommunicatorOpaque *;

struct UniqueId {
  char internal[128];
};

/// The oldest version that is used.
constexpr int kOldest = 22800;

/// The beginning of ncclConfig_t of 2.28; NCCL takes a shorter one as it is.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = kOldest;
  int blocking = 0;
  int cgaClusterSize = INT_MIN;
  int minCTAs = INT_MIN;
  int maxCTAs = INT_MIN;
  const char *netName = nullptr;
  int splitShare = INT_MIN;
  int trafficClass = INT_MIN;
  const char *commName = nullptr;
  int collnetEnable = INT_MIN;
  int CTAPolicy = INT_MIN;
  int shrinkShare = INT_MIN;
  int nvlsCTAs = INT_MIN;
  int nChannelsPerNetPeer = INT_MIN;
  int nvlinkCentricSched = INT_MIN;
};

struct Library {
  Code (*ncclGetVersion)(int *);
  Code (*ncclGetUniqueId)(UniqueId *);
  Code (*ncclCommInitRankConfig)(Communicator *, int, UniqueId, int, Config *);
  Code (*ncclCommGetAsyncError)(Communicator, Code *);
  Code (*ncclCommAbort)(Communicator);
  Code (*ncclCommFinalize)(Communicator);
  Code (*ncclCommDestroy)(Communicator);
  Code (*ncclGroupStart)();
  Code (*ncclGroupEnd)();
  Code (*ncclSend)(const void *, size_t, int, int, Communicator, cuda::Stream);
  Code (*ncclRecv)(void *, size_t, int, int, Communicator, cuda::Stream);
  const char *(*ncclGetErrorString)(Code);
  const char *(*ncclGetLastError)(Communicator);
};

/// NCCL of this machine. The error says what is missing, or that it is too old.
/// ETC_NCCL names another library.
const Result<Library> &findLibrary();

/// "2.28.9".
std::string describeVersion(int version);

} // namespace etc::runtime::nccl

#endif // ETC_RUNTIME_TRANSPORT_NCCLLIBRARY_H
