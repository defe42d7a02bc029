#include "transport/NcclLibrary.h"

#include "device/SharedLibrary.h"

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

static Result<Library> openLibrary() {
  SharedLibrary library = SharedLibrary::open("ETC_NCCL", "libnccl.so.2");
  const std::string remedy = text("install NCCL ", describeVersion(kOldest),
                                  " or later, or name its file in ETC_NCCL");
  if (!library.isOpen())
    return Status(ErrorKind::Usage, text("no NCCL (", library.name(),
                                         " cannot be loaded); ", remedy));
  Library nccl{};
  if (const char *missing = lookUp(library, nccl))
    return Status(ErrorKind::Usage, text("NCCL in ", library.name(), " has no ",
                                         missing, "; ", remedy));
  int version = 0;
  if (nccl.ncclGetVersion(&version) != kSuccess || version < kOldest)
    return Status(ErrorKind::Usage,
                  text("NCCL in ", library.name(), " is version ",
                       describeVersion(version), "; ", remedy));
  return nccl;
}

const Result<Library> &nccl::findLibrary() {
  static const Result<Library> library = openLibrary();
  return library;
}
