// Rank 0's NCCL id by way of a file.

#include "transport/NcclTransport.h"

#include <cstdio>
#include <fstream>
#include <thread>
#include <utility>

using namespace etc::runtime;

static Result<nccl::UniqueId> writeId(const std::string &path,
                                      const nccl::UniqueId &id) {
  // Whole or not at all.
  const std::string draft = path + ".part";
  std::ofstream file(draft, std::ios::binary);
  file.write(id.internal, sizeof id.internal);
  file.close();
  if (!file || std::rename(draft.c_str(), path.c_str()) != 0)
    return Status(ErrorKind::Usage, text("cannot write ", path));
  return id;
}

static Result<nccl::UniqueId> readId(const std::string &path,
                                     Milliseconds timeout) {
  auto deadline = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < deadline) {
    nccl::UniqueId id{};
    std::ifstream file(path, std::ios::binary);
    if (file.read(id.internal, sizeof id.internal))
      return id;
    std::this_thread::sleep_for(Milliseconds(5));
  }
  return Status(ErrorKind::Peer,
                text("no NCCL id from rank 0 in ", path, " within ",
                     timeout.count() / 1000.0, " s"));
}

IdExchange etc::runtime::exchangeThroughDirectory(std::string directory,
                                                  Milliseconds timeout) {
  return [path = std::move(directory) + "/nccl-id",
          timeout](const nccl::UniqueId *mine) {
    return mine ? writeId(path, *mine) : readId(path, timeout);
  };
}
