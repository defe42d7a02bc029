// Files that a user names as input. Whatever the name stands for, opening it
// neither waits nor reads without end.

#ifndef ETC_PLAN_INPUTFILE_H
#define ETC_PLAN_INPUTFILE_H

#include "core/plan/Status.h"

#include <cstdint>
#include <string>
#include <utility>

namespace etc::plan {

/// A regular file that is open for reading. A FIFO, a socket, a device and a
/// directory are refused at once, and so is a file above a limit. Errors are of
/// kind Usage; their messages begin with the path.
class InputFile {
public:
  /// `mostBytes` is the largest size that is accepted.
  static Result<InputFile> open(const std::string &path, uint64_t mostBytes);
  InputFile(InputFile &&other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)),
        size_(other.size_), mostBytes(other.mostBytes) {}
  InputFile &operator=(InputFile &&) = delete;
  ~InputFile();

  int fd() const { return fd_; }
  /// In bytes, when it was opened. 0 for the files of /proc.
  uint64_t size() const { return size_; }

  /// The content from the beginning to the end of the file. A file that has
  /// grown beyond the limit since it was opened is refused.
  Result<std::string> read() const;

private:
  InputFile(std::string path, int fd, uint64_t mostBytes)
      : path_(std::move(path)), fd_(fd), mostBytes(mostBytes) {}

  std::string path_;
  int fd_;
  uint64_t size_ = 0, mostBytes;
};

/// The content of a regular file; the errors are those of InputFile.
Result<std::string> readInput(const std::string &path, uint64_t mostBytes);

} // namespace etc::plan

#endif // ETC_PLAN_INPUTFILE_H
