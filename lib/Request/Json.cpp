//===- Json.cpp - JSON that remembers where it stands ---------------------===//
//
// nlohmann's SAX events carry no position. The parser reads the text through an
// iterator that counts, and calls an event when the value's last character (for
// a number, one more) is consumed. Between two events stand only white space,
// commas and colons, so a value starts at the first other character after what
// the event before had consumed.
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

#include <nlohmann/json.hpp>

#include <iterator>

using namespace etc::request;
using namespace etc::request::json;
using Sax = nlohmann::json_sax<nlohmann::json>;

std::string json::describe(const Node &node) {
  switch (node.kind) {
  case Kind::Null:
    return "null";
  case Kind::Bool:
    return node.boolean ? "true" : "false";
  case Kind::Integer:
  case Kind::Number:
    return node.text;
  case Kind::String:
    return "\"" + node.text + "\"";
  case Kind::Array:
    return "an array";
  case Kind::Object:
    return "an object";
  }
  return "";
}

namespace {
/// Reads characters and counts them.
class CountingIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  CountingIterator(const char *at, size_t *count) : at(at), count(count) {}

  reference operator*() const { return *at; }
  CountingIterator &operator++() {
    ++at;
    ++*count;
    return *this;
  }
  bool operator==(const CountingIterator &other) const {
    return at == other.at;
  }
  bool operator!=(const CountingIterator &other) const {
    return at != other.at;
  }

private:
  const char *at;
  size_t *count;
};

/// Builds the tree from the events.
class TreeBuilder : public Sax {
public:
  TreeBuilder(llvm::StringRef text, llvm::StringRef fileName)
      : text(text), fileName(fileName) {}

  llvm::Expected<Node> run();

  bool null() override;
  bool boolean(bool value) override;
  bool number_integer(int64_t value) override;
  bool number_unsigned(uint64_t value) override;
  bool number_float(double, const std::string &written) override;
  bool string(std::string &value) override;
  bool binary(nlohmann::json::binary_t &) override { return false; }
  bool start_object(size_t) override { return open(Kind::Object); }
  bool key(std::string &name) override;
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(Kind::Array); }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string &,
                   const nlohmann::detail::exception &error) override;

private:
  // No request nests deeper than four.
  static constexpr size_t maxDepth = 32;
  // An inventory of that many takes some gigabytes of memory.
  static constexpr size_t maxValues = size_t(1) << 24;

  /// An object or an array that is not closed yet.
  struct Frame {
    Node node;
    llvm::StringSet<> keys;
  };

  void locateNext();
  Node place(Kind kind) const;
  bool add(Node node);
  bool addNumber(Kind kind, std::string written, int64_t value);
  bool open(Kind kind);
  bool close();
  std::string path(llvm::StringRef last) const;
  bool fail(const std::string &fieldName, const std::string &message);
  void moveTo(size_t offset);

  llvm::StringRef text, fileName;
  size_t consumed = 0; ///< by the parser, counted by the iterator
  size_t settled = 0;  ///< what the event before had consumed
  size_t cursor = 0;   ///< where line and column stand
  unsigned line = 1, column = 1;
  Node root;
  size_t values = 0;
  std::vector<Frame> frames;
  std::string failedField, failure; ///< what stopped the parser, and at line
};
} // namespace

llvm::Expected<Node> TreeBuilder::run() {
  bool done = false;
  try {
    CountingIterator begin(text.begin(), &consumed), end(text.end(), &consumed);
    done = nlohmann::json::sax_parse(begin, end, this);
  } catch (const std::exception &error) {
    fail("", std::string("malformed JSON: ") + error.what());
  }
  if (!done)
    return malformed({{fileName.str(), line, column}, failedField}, failure);
  return std::move(root);
}

void TreeBuilder::moveTo(size_t offset) {
  for (; cursor < offset; ++cursor) {
    bool newLine = text[cursor] == '\n';
    line += newLine;
    column = newLine ? 1 : column + 1;
  }
}

void TreeBuilder::locateNext() {
  // A byte order mark is no column of its own.
  if (settled == 0 && text.starts_with("\xEF\xBB\xBF"))
    settled = cursor = 3;
  size_t start = text.find_first_not_of(" \t\r\n,:", settled);
  moveTo(std::min(start, text.size()));
  settled = consumed;
}

Node TreeBuilder::place(Kind kind) const {
  Node node;
  node.kind = kind;
  node.line = line;
  node.column = column;
  return node;
}

bool TreeBuilder::null() {
  locateNext();
  return add(place(Kind::Null));
}

bool TreeBuilder::boolean(bool value) {
  locateNext();
  Node node = place(Kind::Bool);
  node.boolean = value;
  return add(std::move(node));
}

bool TreeBuilder::addNumber(Kind kind, std::string written, int64_t value) {
  locateNext();
  Node node = place(kind);
  node.text = std::move(written);
  node.integer = value;
  return add(std::move(node));
}

bool TreeBuilder::number_integer(int64_t value) {
  return addNumber(Kind::Integer, std::to_string(value), value);
}

bool TreeBuilder::number_unsigned(uint64_t value) {
  bool fits = value <= static_cast<uint64_t>(INT64_MAX);
  return addNumber(fits ? Kind::Integer : Kind::Number, std::to_string(value),
                   fits ? static_cast<int64_t>(value) : 0);
}

bool TreeBuilder::number_float(double, const std::string &written) {
  return addNumber(Kind::Number, written, 0);
}

bool TreeBuilder::string(std::string &value) {
  locateNext();
  Node node = place(Kind::String);
  node.text = std::move(value);
  return add(std::move(node));
}

bool TreeBuilder::key(std::string &name) {
  locateNext();
  Frame &frame = frames.back();
  if (!frame.keys.insert(name).second)
    return fail(path(name), "stands twice in one object; give it once");
  frame.node.members.push_back({name, line, column, Node()});
  return true;
}

bool TreeBuilder::add(Node node) {
  if (++values > maxValues)
    return fail("", "more than " + std::to_string(maxValues) +
                        " values, the limit");
  if (frames.empty())
    root = std::move(node);
  else if (Node &parent = frames.back().node; parent.kind == Kind::Array)
    parent.elements.push_back(std::move(node));
  else
    parent.members.back().value = std::move(node);
  return true;
}

bool TreeBuilder::open(Kind kind) {
  locateNext();
  if (frames.size() == maxDepth)
    return fail("", "nested deeper than " + std::to_string(maxDepth) +
                        " levels; no request needs that");
  frames.push_back({place(kind), {}});
  return true;
}

bool TreeBuilder::close() {
  settled = consumed;
  Node node = std::move(frames.back().node);
  frames.pop_back();
  return add(std::move(node));
}

/// The name of a member of the innermost object: `prev.tp`.
std::string TreeBuilder::path(llvm::StringRef last) const {
  std::string name;
  for (const Frame &frame : llvm::ArrayRef(frames).drop_back())
    if (frame.node.kind == Kind::Object)
      name += frame.node.members.back().key + ".";
  return name + last.str();
}

bool TreeBuilder::fail(const std::string &fieldName,
                       const std::string &message) {
  failedField = fieldName;
  failure = message;
  return false;
}

bool TreeBuilder::parse_error(size_t position, const std::string &,
                              const nlohmann::detail::exception &error) {
  moveTo(std::min(position == 0 ? 0 : position - 1, text.size()));
  // "[json.exception...] parse error at line 1, column 2: syntax error while
  // parsing value - what is wrong": the end is for the user.
  llvm::StringRef message = error.what();
  size_t dash = message.find(" - ");
  message = dash != llvm::StringRef::npos ? message.drop_front(dash + 3)
                                          : message.split("] ").second;
  // What was read of a string that is not closed may be the rest of the file.
  constexpr size_t longest = 200;
  if (message.size() > longest)
    message = message.split("; last read: ").first;
  return fail("", "malformed JSON: " + message.str());
}

llvm::Expected<Node> json::parse(llvm::StringRef text,
                                 llvm::StringRef fileName) {
  return TreeBuilder(text, fileName).run();
}
