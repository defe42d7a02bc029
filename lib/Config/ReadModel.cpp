//===- ReadModel.cpp - A model in JSON ------------------------------------===//

#include "Reader.h"
#include "etc/Config/Presets.h"

using namespace etc::config;
using namespace etc::config::json;
using llvm::Error;
using llvm::StringRef;

template <int64_t ModelSpec::*Size>
static Error readModelSize(const Input &input, ModelSpec &model) {
  return readInteger(input, sizeBounds, model.*Size);
}

static Error readLayers(const Input &input, ModelSpec &model) {
  return readInteger(input, layerBounds, model.layers);
}

static Error readFfn(const Input &input, ModelSpec &model) {
  model.ffnGiven = true;
  return readInteger(input, sizeBounds, model.ffn);
}

static Error readFamily(const Input &input, ModelSpec &model) {
  return readWord(input, values().family, model.family);
}

static Error readTied(const Input &input, ModelSpec &model) {
  return readBool(input, model.tiedEmbeddings);
}

static Error readPreset(const Input &input, ModelSpec &model) {
  if (input.node.kind != Kind::String)
    return expected(input, "the name of a preset");
  return store(lookupPreset(input.node.text, input.field), model);
}

/// The preset is read before the other members, wherever it stands.
static Error skipPreset(const Input &, ModelSpec &) { return Error::success(); }

static const MemberReader<ModelSpec> modelMembers[] = {
    {"preset", skipPreset},
    {"family", readFamily},
    {"layers", readLayers},
    {"hidden", readModelSize<&ModelSpec::hidden>},
    {"heads", readModelSize<&ModelSpec::heads>},
    {"ffn", readFfn},
    {"vocab", readModelSize<&ModelSpec::vocab>},
    {"seq", readModelSize<&ModelSpec::seq>},
    {"tied", readTied},
};

Error json::readModel(const Input &input, ModelSpec &model) {
  if (input.node.kind == Kind::String)
    return readPreset(input, model);
  if (input.node.kind != Kind::Object)
    return expected(input, "the name of a preset or an object");
  for (const Member &entry : input.node.members)
    if (entry.key == "preset")
      if (Error error = readPreset(memberOf(input, entry), model))
        return error;
  model.where = input.field.where;
  return readMembers(input, modelMembers, model);
}
