// NCCL, looked up at run time. Types and values are those of its binary
// interface, declared here so that no header is needed to build; a test
// compares them with nccl.h where that is found.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_NCCLLIBRARY_H
#define ETC_RUNTIME_CORE_TRANSPORT_NCCLLIBRARY_H

#include "core/device/CudaDriver.h"
#include "core/plan/Status.h"

#include <climits>
#include <cstddef>
#include <string>

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

/// The oldest version that is used: 2.19.1.
constexpr int kOldest = 21901;
/// The newest whose settings are known here: 2.28.0.
constexpr int kNewest = 22800;

/// The beginning of ncclConfig_t. Later versions have added fields at its end;
/// NCCL copies as much as `size` says, and takes defaults for the fields that
/// `version` did not have (parseCommConfig in src/init.cc).
struct Config {
  size_t size = 0;
  unsigned magic = 0xcafebeef;
  unsigned version = 0;
  int blocking = 0;
  int cgaClusterSize = INT_MIN;
  int minCTAs = INT_MIN;
  int maxCTAs = INT_MIN;
  const char *netName = nullptr;
  int splitShare = INT_MIN;
  // From 2.26 on.
  int trafficClass = INT_MIN;
  // From 2.27 on.
  const char *commName = nullptr;
  int collnetEnable = INT_MIN;
  int CTAPolicy = INT_MIN;
  int shrinkShare = INT_MIN;
  int nvlsCTAs = INT_MIN;
  // From 2.28 on.
  int nChannelsPerNetPeer = INT_MIN;
  int nvlinkCentricSched = INT_MIN;
};

/// What a version of NCCL takes: no field that it does not have.
Config configOf(int version);

struct Library {
  int version = 0;
  std::string path; // of the file that it is in
  Code (*ncclGetVersion)(int *);
  Code (*ncclGetUniqueId)(UniqueId *);
  Code (*ncclCommInitRankConfig)(Communicator *, int, UniqueId, int, Config *);
  Code (*ncclCommGetAsyncError)(Communicator, Code *);
  Code (*ncclCommCount)(Communicator, int *);
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

/// NCCL of this process where it has one (PyTorch brings its own), else of this
/// machine. The error says what is missing, or which version was found, and
/// where. ETC_NCCL names another library.
const Result<Library> &findLibrary();

/// "2.28.9".
std::string describeVersion(int version);

} // namespace etc::runtime::nccl

#endif // ETC_RUNTIME_CORE_TRANSPORT_NCCLLIBRARY_H
