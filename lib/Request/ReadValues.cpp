//===- ReadValues.cpp - Values of JSON ------------------------------------===//

#include "Reader.h"

#include "core/plan/InputFile.h"

#include "llvm/ADT/StringExtras.h"

using namespace etc::request;
using namespace etc::request::json;
using llvm::Error;
using llvm::StringRef;

static constexpr size_t mostNameBytes = 1024;

llvm::Expected<std::string> json::readFile(StringRef path, uint64_t mostBytes,
                                           const Field &field) {
  if (path.contains('\0'))
    return malformed(field, "expected the name of a file, got one with a NUL");
  plan::Result<std::string> text = plan::readInput(path.str(), mostBytes);
  if (!text)
    return malformed(field, text.status().message());
  return std::move(*text);
}

Error json::readName(const Input &input, std::string &target) {
  if (input.node.kind != Kind::String || input.node.text.empty())
    return expected(input, "a name");
  StringRef name = input.node.text;
  if (name.size() > mostNameBytes)
    return malformed(input.field, "expected a name of at most " +
                                      llvm::Twine(mostNameBytes) +
                                      " bytes, got " +
                                      llvm::Twine(name.size()));
  auto isControl = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (llvm::any_of(name, isControl))
    return malformed(input.field, "expected a name without control characters");
  if (name.contains('#') || name.starts_with("/") ||
      llvm::is_contained(llvm::split(name, '/'), StringRef("..")))
    return expected(input, "a name without '#', a '/' in front and '..' "
                           "between slashes");
  target = name.str();
  return Error::success();
}

Error json::readTexts(const Input &input, std::vector<std::string> &target) {
  if (input.node.kind != Kind::Array)
    return expected(input, "an array of strings");
  target.clear();
  for (size_t i = 0; i < input.node.elements.size(); ++i) {
    Input element = elementOf(input, i);
    if (element.node.kind != Kind::String)
      return expected(element, "a string");
    target.push_back(element.node.text);
  }
  return Error::success();
}

Error json::expected(const Input &input, const llvm::Twine &what) {
  return malformed(input.field,
                   "expected " + what + ", got " + describe(input.node));
}

Input json::memberOf(const Input &object, const Member &member) {
  StringRef outer = object.field.name;
  SourceLocation where = {object.field.where.file, member.value.line,
                          member.value.column};
  return {member.value,
          {where, (outer + (outer.empty() ? "" : ".") + member.key).str()}};
}

Error json::unknownMember(const Input &object, const Member &member,
                          llvm::ArrayRef<StringRef> accepted) {
  SourceLocation where = {object.field.where.file, member.line, member.column};
  return malformed({where, object.field.name},
                   "unknown field \"" + member.key + "\"; " +
                       suggestName(member.key, accepted));
}

Error json::readInteger(const Input &input, Bounds bounds, int64_t &target) {
  const Node &node = input.node;
  if (node.kind != Kind::Integer || node.integer < bounds.least ||
      node.integer > bounds.most)
    return expectedInteger(bounds, input.field, describe(node));
  target = node.integer;
  return Error::success();
}

Error json::readBool(const Input &input, bool &target) {
  if (input.node.kind != Kind::Bool)
    return expected(input, "true or false");
  target = input.node.boolean;
  return Error::success();
}

Error json::readWord(const Input &input, llvm::ArrayRef<StringRef> accepted,
                     std::string &target) {
  if (input.node.kind != Kind::String)
    return expected(input, "a string");
  target = input.node.text;
  return checkWord(accepted, target, input.field);
}

Input json::elementOf(const Input &array, size_t index) {
  const Node &node = array.node.elements[index];
  // An option is one word.
  if (array.field.where.isCommandLine())
    return {node, array.field};
  SourceLocation where = {array.field.where.file, node.line, node.column};
  return {node, {where, array.field.name + "[" + std::to_string(index) + "]"}};
}

Error json::readIntegers(const Input &input, Bounds bounds,
                         std::vector<int64_t> &target) {
  if (input.node.kind != Kind::Array)
    return expected(input, "an array of integers");
  target.resize(input.node.elements.size());
  for (size_t i = 0; i < target.size(); ++i)
    if (Error error = readInteger(elementOf(input, i), bounds, target[i]))
      return error;
  return Error::success();
}
