//===- ReadRequest.cpp - Requests from JSON -------------------------------===//

#include "Reader.h"
#include "etc/Request/Devices.h"
#include "etc/Request/Fields.h"

#include "llvm/ADT/StringMap.h"

using namespace etc::request;
using namespace etc::request::json;
using llvm::Error;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Fields with readers of their own
//===----------------------------------------------------------------------===//

Error json::readModelOf(const Input &input, Request &request) {
  return readModel(input, request.model);
}

Error json::readClusterOf(const Input &input, Request &request) {
  return readCluster(input, request);
}

Error json::readFfnOf(const Input &input, Request &request) {
  return readFfn(input, request.model);
}

Error json::readTypes(const Input &input, Request &request) {
  if (input.node.kind != Kind::Array)
    return expected(input, "an array of strings");
  std::vector<std::string> names;
  for (size_t i = 0; i < input.node.elements.size(); ++i) {
    Input element = elementOf(input, i);
    if (element.node.kind != Kind::String)
      return expected(element, "a string");
    names.push_back(element.node.text);
    if (Error error = checkType(request.model, names.back(), element.field))
      return error;
  }
  return store(orderedTypes(request.model, names, input.field), request.types);
}

Error json::readBudget(const Input &input, Request &request) {
  const Node &node = input.node;
  if (node.kind != Kind::Integer && node.kind != Kind::String)
    return expected(input, "a number of bytes or a ratio such as \"1.05x\"");
  return store(parseMemoryBudget(node.text, input.field), request.memoryBudget);
}

/// A word, or types, which are known only once all has been read.
Error json::readDefer(const Input &input, Request &request) {
  if (input.node.kind == Kind::String) {
    request.defer = {input.node.text};
    return Error::success();
  }
  if (input.node.kind != Kind::Array)
    return expected(input, "\"none\", \"optimizer\" or an array of types");
  if (input.node.elements.empty())
    return malformed(input.field, "expected none, optimizer or types, got no "
                                  "name");
  if (Error error = readTexts(input, request.defer))
    return error;
  llvm::sort(request.defer);
  request.defer.erase(llvm::unique(request.defer), request.defer.end());
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Any field
//===----------------------------------------------------------------------===//

static Error readValue(const RequestField &field, const Input &input,
                       std::string &word) {
  return readWord(input, field.words, word);
}

static Error readValue(const RequestField &field, const Input &input,
                       int64_t &number) {
  return readInteger(input, field.bounds, number);
}

static Error readValue(const RequestField &, const Input &input, bool &truth) {
  return readBool(input, truth);
}

static Error readValue(const RequestField &, const Input &input,
                       std::vector<int64_t> &devices) {
  if (input.field.where.isCommandLine())
    return store(parseDevices(input.node.text, input.field), devices);
  if (Error error = readIntegers(input, deviceBounds, devices))
    return error;
  return store(sortedDevices(std::move(devices), input.field), devices);
}

namespace {
/// Stores a value where the table says.
struct FieldReader {
  const RequestField &field;
  const Input &input;
  Request *request;
  ModelSpec &model;

  template <typename T> Error operator()(T Request::*member) const {
    return readValue(field, input, request->*member);
  }
  template <typename T> Error operator()(T ModelSpec::*member) const {
    return readValue(field, input, model.*member);
  }
  Error operator()(const OwnReader &own) const {
    return own.read(input, *request);
  }
};
} // namespace

Error json::readField(const RequestField &field, const Input &input,
                      Request &request) {
  request.places[field.name.str()] = input.field.where;
  return std::visit(FieldReader{field, input, &request, request.model},
                    field.stored);
}

Error json::readModelField(const RequestField &field, const Input &input,
                           ModelSpec &model) {
  assert(field.isOfModel() && !std::holds_alternative<OwnReader>(field.stored));
  return std::visit(FieldReader{field, input, nullptr, model}, field.stored);
}

//===----------------------------------------------------------------------===//
// A request
//===----------------------------------------------------------------------===//

/// The field that a member of a file is, or null.
static const RequestField *findField(StringRef key) {
  auto found = llvm::find_if(requestFields(), [&](const RequestField &field) {
    const bool isNamed = key == field.name ||
                         (!field.olderName.empty() && key == field.olderName);
    return isNamed && field.inFile && !field.isOfModel();
  });
  return found == requestFields().end() ? nullptr : found;
}

static Error unknownField(const Input &root, const Member &member) {
  llvm::SmallVector<StringRef> names;
  for (const RequestField &field : requestFields())
    if (findField(field.name))
      names.push_back(field.name);
  return unknownMember(root, member, names);
}

/// A name may stand once; so may a field with two names.
static Error checkNames(const Input &root) {
  llvm::StringMap<StringRef> keyOf;
  for (const Member &member : root.node.members) {
    const RequestField *field = findField(member.key);
    if (!field)
      return unknownField(root, member);
    auto [first, isNew] = keyOf.try_emplace(field->name, member.key);
    if (!isNew)
      return malformed(memberOf(root, member).field,
                       "is the same field as \"" + first->second +
                           "\"; give one of them");
  }
  return Error::success();
}

/// Reads the members in the order of the text, but those that depend on others
/// after these.
static Error readFields(const Input &root, Request &request) {
  if (Error error = checkNames(root))
    return error;
  for (After turn : {After::Nothing, After::Model, After::States}) {
    if (turn == After::Model)
      adoptModel(request);
    for (const Member &member : root.node.members) {
      const RequestField &field = *findField(member.key);
      if (field.after != turn)
        continue;
      if (Error error = readField(field, memberOf(root, member), request))
        return error;
    }
  }
  return Error::success();
}

llvm::Expected<Request> etc::request::parseRequest(StringRef text,
                                                   StringRef fileName) {
  auto root = parse(text, fileName);
  if (!root)
    return root.takeError();
  Input input = {*root, {{fileName.str(), root->line, root->column}, ""}};
  if (root->kind != Kind::Object)
    return expected(input, "an object");
  Request request;
  request.where = request.model.where = input.field.where;
  if (Error error = readFields(input, request))
    return error;
  settleRequest(request);
  return request;
}
