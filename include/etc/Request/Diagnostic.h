//===- Diagnostic.h - What a user is told about a request -------*- C++ -*-===//
//
// Every error of a request is one line that names where it stands, the field,
// what was expected, what was found, and what would be accepted:
//
//   request.json:3:11: error: prev.tp: expected a positive integer, got "x"
//   etc-opt: error: --prev: expected a positive integer after TP, got "x"
//
//===----------------------------------------------------------------------===//

#ifndef ETC_REQUEST_DIAGNOSTIC_H
#define ETC_REQUEST_DIAGNOSTIC_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <string>

namespace etc::request {

/// A position in a request. Line and column count from 1; the column counts
/// bytes. Line 0 stands for the command line (or any other source that has no
/// lines), whose `file` is the name of the program.
struct SourceLocation {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;

  bool isCommandLine() const { return line == 0; }
};

/// A field of a request and the place where its value starts. The name is as
/// the user wrote it: `prev.tp` in a file, `--prev` on a command line.
struct Field {
  SourceLocation where;
  std::string name;
};

/// The exit status that an error of a request asks for.
enum class ExitCode : int {
  Unsatisfiable = 1, ///< well formed, but it can't be met
  Malformed = 2,     ///< usage or malformed input
};

/// An error of a request. `message()` of the llvm::Error is the whole line,
/// without a newline.
class RequestError : public llvm::ErrorInfo<RequestError> {
public:
  static char ID;

  RequestError(Field field, std::string text, ExitCode code)
      : field(std::move(field)), text(std::move(text)), code(code) {}

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

  const SourceLocation &getLocation() const { return field.where; }
  llvm::StringRef getField() const { return field.name; }
  /// The text after the field: lower case, no full stop.
  llvm::StringRef getText() const { return text; }
  ExitCode getExitCode() const { return code; }

private:
  Field field;
  std::string text;
  ExitCode code;
};

/// The field's input is malformed: exit 2.
llvm::Error malformed(const Field &field, const llvm::Twine &text);

/// The field is well formed, but can't be met: exit 1.
llvm::Error unsatisfiable(const Field &field, const llvm::Twine &text);

/// Prints the error as lines on `os` and returns the exit status it asks for.
/// An error that is not a RequestError is printed as it is, with exit 2.
int reportError(llvm::Error error, llvm::raw_ostream &os);

/// `did you mean "layers"? accepted: layers, hidden`: the remedy for a name
/// that is not in `accepted`; the question stands only where a name is near.
std::string suggestName(llvm::StringRef name,
                        llvm::ArrayRef<llvm::StringRef> accepted);

} // namespace etc::request

#endif // ETC_REQUEST_DIAGNOSTIC_H
