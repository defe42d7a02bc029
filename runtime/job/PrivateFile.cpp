#include "job/PrivateFile.h"

#include "core/net/Secret.h"
#include "core/plan/SystemError.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace etc::runtime;

static Status failed(const std::string &path, const char *what, int error) {
  return Status(ErrorKind::Usage, text(path, ": cannot ", what, ": ",
                                       etc::plan::describeSystemError(error)));
}

static Status foreign(const std::string &path, const std::string &what) {
  return Status(ErrorKind::Usage, text(path, ": ", what,
                                       ", and so is not from this job; use a "
                                       "directory that only you can write to"));
}

/// Returns an error number, or 0.
static int writeAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return errno;
    content.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

/// Writes a file, and calls name(draft) when it is whole; an error of that is
/// errno's.
template <typename Name>
static Status writeDraft(const std::string &path, std::string_view content,
                         Name name) {
  // Nobody can be there first under a name that cannot be foreseen.
  const std::string draft =
      path + "." + randomSecretText().substr(0, 16) + ".part";
  const int fd =
      ::open(draft.c_str(),
             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    return failed(path, "write", errno);
  int error = writeAll(fd, content);
  if (::close(fd) != 0 && error == 0)
    error = errno;
  if (error == 0 && name(draft.c_str()) != 0)
    error = errno;
  ::unlink(draft.c_str()); // unless it was renamed
  return error == 0 ? Status::success() : failed(path, "write", error);
}

Status etc::runtime::writePrivate(const std::string &path,
                                  std::string_view content) {
  return writeDraft(path, content, [&](const char *draft) {
    return std::rename(draft, path.c_str());
  });
}

Result<bool> etc::runtime::writePrivateOnce(const std::string &path,
                                            std::string_view content) {
  bool isFirst = true;
  Status status = writeDraft(path, content, [&](const char *draft) {
    isFirst = ::link(draft, path.c_str()) == 0;
    return isFirst || errno == EEXIST ? 0 : -1;
  });
  return status.ok() ? Result<bool>(isFirst) : Result<bool>(status);
}

/// Nothing where the file is one that writePrivate makes.
static std::optional<Status> checkMaker(const std::string &path,
                                        const struct stat &facts) {
  if (!S_ISREG(facts.st_mode))
    return foreign(path, "is not a regular file");
  if (facts.st_uid != ::geteuid())
    return foreign(
        path, text("belongs to user ", facts.st_uid, ", not to ", ::geteuid()));
  if ((facts.st_mode & 077) != 0)
    return foreign(path, "is open to other users");
  return std::nullopt;
}

Result<std::optional<std::string>>
etc::runtime::readPrivate(const std::string &path, uint64_t mostBytes) {
  const int fd =
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT)
    return std::optional<std::string>();
  if (fd < 0 && errno == ELOOP)
    return foreign(path, "is a symbolic link");
  if (fd < 0)
    return failed(path, "read", errno);
  struct stat facts {};
  int error = ::fstat(fd, &facts) != 0 ? errno : 0;
  std::optional<Status> wrong = checkMaker(path, facts);
  std::string content;
  const auto size = static_cast<uint64_t>(facts.st_size);
  if (error == 0 && !wrong && size <= mostBytes) {
    content.resize(size);
    const ssize_t count = ::pread(fd, content.data(), size, 0);
    if (count != static_cast<ssize_t>(size))
      error = count < 0 ? errno : EIO;
  }
  ::close(fd);
  if (error != 0)
    return failed(path, "read", error);
  if (wrong)
    return *wrong;
  if (size > mostBytes)
    return foreign(path, text("has ", size, " bytes, more than ", mostBytes));
  return std::optional(std::move(content));
}

bool etc::runtime::removePrivate(const std::string &path,
                                 std::string_view content) {
  constexpr uint64_t longest = 1 << 26; // whatever another process may write
  Result<std::optional<std::string>> now = readPrivate(path, longest);
  if (!now) // nobody can say whose it is
    return true;
  if (!*now || **now != content)
    return false;
  return ::unlink(path.c_str()) == 0 || errno != ENOENT;
}
