//===- Outputs.cpp - Files, all of them or none ---------------------------===//

#include "Outputs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <deque>
#include <unistd.h>

using namespace etc;
using request::ExitCode;

int etc::fail(const llvm::Twine &message, ExitCode code) {
  llvm::errs() << "etc-opt: error: " << message << "\n";
  return static_cast<int>(code);
}

namespace {
/// One file that is being written: beside its name, which it takes at the end.
/// Standard output and devices are written as they are.
class OutputFile {
public:
  explicit OutputFile(const Output &output)
      : output(output), target(output.name) {}
  ~OutputFile() {
    if (!draft.empty())
      llvm::sys::fs::remove(draft);
  }

  /// Writes all of the content; says why not.
  std::error_code write();
  /// Gives it its name.
  std::error_code keep();

private:
  std::error_code open(int &fd);

  const Output &output;
  llvm::SmallString<128> target, draft; ///< no draft: the target itself
};
} // namespace

/// A name that stands for a file elsewhere is left standing for it.
std::error_code OutputFile::open(int &fd) {
  namespace fs = llvm::sys::fs;
  fs::file_status status;
  if (output.name == "-") {
    fd = STDOUT_FILENO;
    return {};
  }
  const bool exists = !fs::status(target, status);
  if (exists && status.type() == fs::file_type::directory_file)
    return std::make_error_code(std::errc::is_a_directory);
  if (exists && status.type() == fs::file_type::character_file)
    return fs::openFileForWrite(target, fd, fs::CD_OpenExisting);
  // Opening a FIFO waits for a reader.
  if (exists && status.type() != fs::file_type::regular_file)
    return std::make_error_code(std::errc::not_supported);
  if (exists)
    if (std::error_code error = fs::real_path(output.name, target))
      return error;
  const unsigned mode =
      exists ? status.permissions() : fs::all_read | fs::all_write;
  return fs::createUniqueFile(target + ".%%%%%%%%.part", fd, draft, fs::OF_None,
                              mode);
}

std::error_code OutputFile::write() {
  int fd = -1;
  if (std::error_code error = open(fd))
    return error;
  llvm::raw_fd_ostream os(fd, /*shouldClose=*/output.name != "-");
  output.write(os);
  os.flush();
  std::error_code error = os.error();
  os.clear_error();
  return error;
}

std::error_code OutputFile::keep() {
  if (draft.empty())
    return {};
  // Where permissions can't be set, `sh FILE` still runs it.
  if (output.executable)
    (void)llvm::sys::fs::setPermissions(
        draft, static_cast<llvm::sys::fs::perms>(0755));
  if (std::error_code error = llvm::sys::fs::rename(draft, target))
    return error;
  draft.clear();
  return {};
}

static int failOutput(const Output &output, std::error_code error) {
  llvm::StringRef name = output.name;
  if (error == std::errc::not_supported)
    return fail(name + ": expected the name of a file, got a FIFO or a socket; "
                       "use -o - for standard output",
                ExitCode::Malformed);
  return fail((name == "-" ? "standard output" : name) +
                  llvm::Twine(": cannot write: ") + error.message(),
              ExitCode::Malformed);
}

std::string etc::numberedOutput(llvm::StringRef output, uint64_t number) {
  const llvm::StringRef extension = llvm::sys::path::extension(output);
  return (output.drop_back(extension.size()) + "." + llvm::Twine(number) +
          extension)
      .str();
}

int etc::writeOutputs(llvm::ArrayRef<Output> outputs) {
  std::deque<OutputFile> files;
  for (const Output &output : outputs)
    if (std::error_code error = files.emplace_back(output).write())
      return failOutput(output, error);
  for (auto [file, output] : llvm::zip_equal(files, outputs))
    if (std::error_code error = file.keep())
      return failOutput(output, error);
  return 0;
}
