//===- Overrides.cpp - Requests from command-line options -----------------===//
//
// The value of an option becomes the JSON that would say the same, and is read
// as that is.
//
//===----------------------------------------------------------------------===//

#include "HuggingFace.h"
#include "MegatronArgs.h"
#include "Reader.h"
#include "Scalars.h"
#include "etc/Request/Fields.h"
#include "etc/Request/Presets.h"

#include "llvm/ADT/StringExtras.h"

using namespace etc::request;
using namespace etc::request::json;
using llvm::Error;
using llvm::StringRef;

static Node textNode(StringRef text) {
  Node node;
  node.kind = Kind::String;
  node.text = text.str();
  return node;
}

//===----------------------------------------------------------------------===//
// Options that replace more than a value
//===----------------------------------------------------------------------===//

Error json::replaceModel(StringRef text, const Field &field, Request &request) {
  ModelSpec model;
  if (Error error = text.ends_with(".json")
                        ? store(readHuggingFace(text, field), model)
                        : store(lookupPreset(text, field), model))
    return error;
  // Neither says how it is trained.
  model.precision = request.model.precision;
  model.optimizer = request.model.optimizer;
  model.stateDTypes = request.model.stateDTypes;
  request.model = std::move(model);
  return Error::success();
}

Error json::replaceByMegatronArgs(StringRef text, const Field &field,
                                  Request &request) {
  if (Error error = modelOfMegatronArgs(text, field, request.model))
    return error;
  return sideOfMegatronArgs(text, field, request.prev);
}

Error json::replaceSide(StringRef text, const Field &field, SideSpec &side) {
  side = SideSpec();
  if (text.starts_with("--"))
    return sideOfMegatronArgs(text, field, side);
  const Node node = textNode(text);
  return readSide({node, field}, side);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// What is no number stays a text, for the reader to refuse.
static Node numberNode(StringRef text) {
  Node node = textNode(text);
  if (text.empty() || !llvm::all_of(text, llvm::isDigit))
    return node;
  node.kind =
      text.getAsInteger(10, node.integer) ? Kind::Number : Kind::Integer;
  return node;
}

static Node truthNode(StringRef text) {
  Node node = textNode(text);
  if (text != "true" && text != "false")
    return node;
  node.kind = Kind::Bool;
  node.boolean = text == "true";
  return node;
}

static Node listNode(StringRef text, Node (*element)(StringRef)) {
  Node node;
  node.kind = Kind::Array;
  if (!text.empty())
    for (StringRef part : llvm::split(text, ','))
      node.elements.push_back(element(part));
  return node;
}

namespace {
/// The JSON for an option's text.
struct NodeMaker {
  StringRef text;

  template <typename Owner> Node operator()(std::string Owner::*) const {
    return textNode(text);
  }
  template <typename Owner> Node operator()(int64_t Owner::*) const {
    return numberNode(text);
  }
  template <typename Owner> Node operator()(bool Owner::*) const {
    return truthNode(text);
  }
  /// Ranges of devices, which only options have.
  template <typename Owner>
  Node operator()(std::vector<int64_t> Owner::*) const {
    return textNode(text);
  }
  Node operator()(const OwnReader &own) const {
    switch (own.written) {
    case Written::Text:
      return textNode(text);
    case Written::Number:
      return numberNode(text);
    case Written::Texts:
      return listNode(text, textNode);
    }
    llvm_unreachable("unknown way to write a value");
  }
};
} // namespace

static Error applyOption(const RequestField &field, StringRef text,
                         const Field &where, Request &request) {
  auto *own = std::get_if<OwnReader>(&field.stored);
  if (!own || !own->replace) {
    const Node node = std::visit(NodeMaker{text}, field.stored);
    return readField(field, {node, where}, request);
  }
  request.places[field.name.str()] = where.where;
  return own->replace(text, where, request);
}

static Error checkNames(const Overrides &overrides) {
  for (const auto &given : overrides.values)
    if (llvm::none_of(requestFields(), [&](const RequestField &field) {
          return field.option() == given.first;
        }))
      return llvm::createStringError(overrides.program + ": --" + given.first +
                                     ": no such option of a request");
  return Error::success();
}

Error etc::request::applyOverrides(Request &request,
                                   const Overrides &overrides) {
  if (Error error = checkNames(overrides))
    return error;
  for (After turn : {After::Nothing, After::Model, After::States}) {
    if (turn == After::Model)
      adoptModel(request);
    for (const RequestField &field : requestFields()) {
      auto given = overrides.values.find(field.option());
      if (field.after != turn || given == overrides.values.end())
        continue;
      Field where;
      where.where.file = overrides.program;
      where.name = "--" + given->first;
      if (Error error = applyOption(field, given->second, where, request))
        return error;
    }
  }
  settleRequest(request);
  return Error::success();
}

llvm::Expected<Request>
etc::request::requestFromOptions(const Overrides &overrides) {
  Request request;
  request.where.file = overrides.program;
  request.model.where = request.where;
  if (Error error = applyOverrides(request, overrides))
    return error;
  return request;
}
