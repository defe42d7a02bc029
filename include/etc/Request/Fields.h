//===- Fields.h - The fields of a request -----------------------*- C++ -*-===//
//
// The one table of what a request may say. What reads JSON, the options of
// etc-opt and their help, the keywords of Python's etc.plan and the reference
// page are made from it. A plain field (a word, a number, a list of devices)
// is a member of Request, a row of this table, and the code that it affects.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_REQUEST_FIELDS_H
#define ETC_REQUEST_FIELDS_H

#include "etc/Request/Request.h"
#include "etc/Request/Values.h"

#include <variant>

namespace etc::request {

namespace json {
struct Input;
} // namespace json

/// How an option writes a value that is not plain.
enum class Written { Text, Number, Texts };

/// A field with a reader of its own.
struct OwnReader {
  /// Reads a value of JSON, or of an option where `replace` is absent.
  llvm::Error (*read)(const json::Input &, Request &) = nullptr;
  Written written = Written::Text;
  /// What an option does, where that is more than to give the value.
  llvm::Error (*replace)(llvm::StringRef text, const Field &,
                         Request &) = nullptr;
};

/// Where a value is stored, which says what it is: a word, a number, true or
/// false, a set of devices. Fields of the model stand inside "model" in JSON.
using Stored =
    std::variant<std::string Request::*, int64_t Request::*,
                 std::vector<int64_t> Request::*, std::string ModelSpec::*,
                 int64_t ModelSpec::*, bool ModelSpec::*, OwnReader>;

/// What has to be read before a field.
enum class After { Nothing, Model, States };

struct RequestField {
  /// As JSON and Python spell it: "memory_budget", "model.layers". The option
  /// is --memory-budget, --layers.
  llvm::StringRef name;
  /// An older spelling, which files and options may still have; of one word.
  llvm::StringRef olderName = "";
  /// The one line about it, for --help and the reference page.
  llvm::StringRef help;
  /// What a value looks like; of words, these themselves.
  llvm::StringRef example = "";
  /// What holds without it; of words, the first. Empty: it must be given.
  llvm::StringRef otherwise = "";
  /// The page of docs/ that says more.
  llvm::StringRef page = "";
  /// The type of the keyword in Python, where it isn't that of what is stored.
  llvm::StringRef python = "";
  Stored stored;
  /// Those that a word may be, the default first.
  std::vector<llvm::StringRef> words = {};
  /// Those within which a number is.
  Bounds bounds = {0, 0};
  After after = After::Nothing;
  /// Whether it may stand in a file.
  bool inFile = true;
  /// Whether a complete request can be met, as far as this field goes.
  llvm::Error (*check)(const Request &, const Field &) = nullptr;

  /// "memory-budget"
  std::string option() const;
  /// "pack|tp|any", or the example.
  std::string valueHint() const;
  /// What holds without it.
  llvm::StringRef without() const;
  /// Whether it stands inside "model" in JSON.
  bool isOfModel() const { return name.starts_with("model."); }
};

/// The table, in the order of the reference page.
llvm::ArrayRef<RequestField> requestFields();

/// The field of that name. It must exist.
const RequestField &requestField(llvm::StringRef name);

/// The table as JSON, for what is generated from it.
void writeRequestFields(llvm::raw_ostream &os);

} // namespace etc::request

#endif // ETC_REQUEST_FIELDS_H
