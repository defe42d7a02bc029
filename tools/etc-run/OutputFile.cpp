#include "OutputFile.h"

#include "core/plan/SystemError.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace etc::run;
using etc::plan::ErrorKind;
using etc::plan::Status;
using etc::plan::text;
namespace fs = std::filesystem;

static Status noFolder(const std::string &path) {
  return Status(ErrorKind::Usage,
                path + ": cannot write; name a file in a folder that exists");
}

static Status failed(const std::string &path, int error) {
  if (error == ENOENT || error == ENOTDIR)
    return noFolder(path);
  return Status(ErrorKind::Usage, text(path, ": cannot write: ",
                                       etc::plan::describeSystemError(error)));
}

Status etc::run::checkOutputFile(const std::string &path) {
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty())
    folder = ".";
  std::error_code unknown;
  if (!fs::is_directory(folder, unknown) || ::access(folder.c_str(), W_OK) != 0)
    return noFolder(path);
  const fs::file_type type = fs::status(path, unknown).type();
  const char *kind = type == fs::file_type::directory ? "directory"
                     : type == fs::file_type::fifo    ? "FIFO"
                     : type == fs::file_type::socket  ? "socket"
                                                      : nullptr;
  return kind ? Status(ErrorKind::Usage,
                       text(path, ": expected a regular file, got a ", kind))
              : Status::success();
}

/// Returns an error number, or 0.
static int writeTo(const std::string &path, int flags,
                   std::string_view content) {
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | flags, 0666);
  if (fd < 0)
    return errno;
  int error = 0;
  while (error == 0 && !content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count >= 0)
      content.remove_prefix(static_cast<size_t>(count));
    else if (errno != EINTR)
      error = errno;
  }
  if (::close(fd) != 0 && error == 0)
    error = errno;
  return error;
}

Status etc::run::writeOutputFile(const std::string &path,
                                 std::string_view content) {
  std::error_code unknown;
  const bool isFile = !fs::exists(path, unknown) || fs::is_regular_file(path);
  const std::string draft =
      isFile ? text(path, ".", ::getpid(), ".part") : path;
  int error = writeTo(draft, isFile ? O_CREAT | O_TRUNC : 0, content);
  if (isFile && error == 0 && std::rename(draft.c_str(), path.c_str()) != 0)
    error = errno;
  if (isFile && error != 0)
    ::unlink(draft.c_str());
  return error == 0 ? Status::success() : failed(path, error);
}
