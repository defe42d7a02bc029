//===- Diagnostic.cpp - What a user is told about a request ---------------===//

#include "etc/Request/Diagnostic.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace etc::request;

char RequestError::ID = 0;

/// Names and strings come from the user; an error stays one line all the same.
static void printOnOneLine(llvm::raw_ostream &os, llvm::StringRef text) {
  for (unsigned char c : text) {
    if (c < 0x20 || c == 0x7f)
      os << "\\x" << llvm::hexdigit(c >> 4) << llvm::hexdigit(c & 15);
    else
      os << c;
  }
}

void RequestError::log(llvm::raw_ostream &os) const {
  os << field.where.file << ':';
  if (!field.where.isCommandLine())
    os << field.where.line << ':' << field.where.column << ':';
  os << " error: ";
  if (!field.name.empty())
    printOnOneLine(os, field.name + ": ");
  printOnOneLine(os, text);
}

std::error_code RequestError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

llvm::Error etc::request::malformed(const Field &field,
                                    const llvm::Twine &text) {
  return llvm::make_error<RequestError>(field, text.str(), ExitCode::Malformed);
}

llvm::Error etc::request::unsatisfiable(const Field &field,
                                        const llvm::Twine &text) {
  return llvm::make_error<RequestError>(field, text.str(),
                                        ExitCode::Unsatisfiable);
}

int etc::request::reportError(llvm::Error error, llvm::raw_ostream &os) {
  int status = 0;
  llvm::handleAllErrors(
      std::move(error),
      [&](const RequestError &e) {
        os << e.message() << '\n';
        status = std::max(status, static_cast<int>(e.getExitCode()));
      },
      [&](const llvm::ErrorInfoBase &e) {
        os << e.message() << '\n';
        status = static_cast<int>(ExitCode::Malformed);
      });
  return status;
}

/// The accepted name that a slip of the fingers is likely to have meant.
static llvm::StringRef nearest(llvm::StringRef name,
                               llvm::ArrayRef<llvm::StringRef> accepted) {
  llvm::StringRef best;
  // Two letters swapped are two edits. Beyond that, or beyond a third of the
  // letters, a suggestion puzzles more than it helps.
  size_t most = name.size() < 4 ? 1 : std::max<size_t>(2, name.size() / 3);
  size_t bestDistance = most + 1;
  for (llvm::StringRef candidate : accepted) {
    size_t distance = candidate.edit_distance_insensitive(name);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

std::string
etc::request::suggestName(llvm::StringRef name,
                          llvm::ArrayRef<llvm::StringRef> accepted) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (llvm::StringRef near = nearest(name, accepted); !near.empty())
    os << "did you mean \"" << near << "\"? ";
  os << "accepted: " << llvm::join(accepted, ", ");
  return text;
}
