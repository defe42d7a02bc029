//===- Json.h - JSON that remembers where it stands -------------*- C++ -*-===//

#ifndef ETC_LIB_REQUEST_JSON_H
#define ETC_LIB_REQUEST_JSON_H

#include "etc/Request/Diagnostic.h"

#include <cstdint>
#include <string>
#include <vector>

namespace etc::request::json {

enum class Kind { Null, Bool, Integer, Number, String, Array, Object };

struct Member;

/// A JSON value and the position where it starts.
struct Node {
  Kind kind = Kind::Null;
  unsigned line = 0, column = 0;
  /// A string's value, or a number as it was written.
  std::string text;
  int64_t integer = 0; ///< only of Kind::Integer
  bool boolean = false;
  std::vector<Node> elements;
  std::vector<Member> members; ///< in the order of the text, keys distinct
};

struct Member {
  std::string key;
  unsigned line = 0, column = 0; ///< of the key
  Node value;
};

/// The value as messages show it: `"x"`, `4`, `an array`.
std::string describe(const Node &node);

/// Parses a text. Bad syntax, a key that an object has twice, and nesting
/// deeper than any request needs are Malformed.
llvm::Expected<Node> parse(llvm::StringRef text, llvm::StringRef fileName);

} // namespace etc::request::json

#endif // ETC_LIB_REQUEST_JSON_H
