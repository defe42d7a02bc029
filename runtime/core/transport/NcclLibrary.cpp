#include "core/transport/NcclLibrary.h"

#include "core/device/SharedLibrary.h"

#include <algorithm>

using namespace etc::runtime;
using namespace etc::runtime::nccl;
using etc::plan::text;

std::string nccl::describeVersion(int version) {
  return text(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

/// The name of the first function that is missing, or null.
static const char *lookUp(const SharedLibrary &library, Library &nccl) {
#define ETC_FIND(name)                                                         \
  if (!library.find(#name, nccl.name))                                         \
    return #name;
  ETC_FIND(ncclGetVersion)
  ETC_FIND(ncclGetUniqueId)
  ETC_FIND(ncclCommInitRankConfig)
  ETC_FIND(ncclCommGetAsyncError)
  ETC_FIND(ncclCommCount)
  ETC_FIND(ncclCommAbort)
  ETC_FIND(ncclCommFinalize)
  ETC_FIND(ncclCommDestroy)
  ETC_FIND(ncclGroupStart)
  ETC_FIND(ncclGroupEnd)
  ETC_FIND(ncclSend)
  ETC_FIND(ncclRecv)
  ETC_FIND(ncclGetErrorString)
  ETC_FIND(ncclGetLastError)
#undef ETC_FIND
  return nullptr;
}

Config nccl::configOf(int version) {
  Config config;
  config.version = static_cast<unsigned>(std::min(version, kNewest));
  config.size = version >= 22800   ? sizeof(Config)
                : version >= 22700 ? offsetof(Config, nChannelsPerNetPeer)
                                   : offsetof(Config, commName);
  return config;
}

static Result<Library> openLibrary() {
  // A library of this name that the process has already is what it gets.
  SharedLibrary library = SharedLibrary::open("ETC_NCCL", "libnccl.so.2");
  const std::string remedy = text("install NCCL ", describeVersion(kOldest),
                                  " or later, or name its file in ETC_NCCL");
  if (!library.isOpen())
    return Status(ErrorKind::Usage, text("no NCCL (", library.name(),
                                         " cannot be loaded); ", remedy));
  Library nccl{};
  const char *missing = lookUp(library, nccl);
  if (nccl.ncclGetVersion) {
    nccl.path = library.pathOf(nccl.ncclGetVersion);
    if (nccl.ncclGetVersion(&nccl.version) != kSuccess)
      nccl.version = 0;
  }
  if (nccl.version >= kOldest && missing)
    return Status(ErrorKind::Usage,
                  text("NCCL ", describeVersion(nccl.version), " in ",
                       nccl.path, " has no ", missing, "; ", remedy));
  if (nccl.version < kOldest)
    return Status(ErrorKind::Usage,
                  text("NCCL ", describeVersion(nccl.version), " in ",
                       nccl.path.empty() ? library.name() : nccl.path,
                       " is too old; ", remedy));
  return nccl;
}

const Result<Library> &nccl::findLibrary() {
  static const Result<Library> library = openLibrary();
  return library;
}
