//===- ReadModel.cpp - A model in JSON ------------------------------------===//

#include "HuggingFace.h"
#include "MegatronArgs.h"
#include "Reader.h"
#include "etc/Request/Families.h"
#include "etc/Request/Fields.h"
#include "etc/Request/Presets.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace etc::request;
using namespace etc::request::json;
using llvm::Error;
using llvm::StringRef;

template <int64_t ModelSpec::*Size>
static Error readModelSize(const Input &input, ModelSpec &model) {
  return readInteger(input, sizeBounds, model.*Size);
}

/// What an option may override stands in the table of the request's fields.
static Error readByTable(const Input &input, ModelSpec &model) {
  return readModelField(requestField(input.field.name), input, model);
}

Error json::readFfn(const Input &input, ModelSpec &model) {
  model.ffnGiven = true;
  return readInteger(input, sizeBounds, model.ffn);
}

/// The family is read before what changes its traits, wherever it stands.
static Error readFamily(const Input &input, ModelSpec &model) {
  if (Error error = readWord(input, values().family, model.family))
    return error;
  model.traits = findFamily(model.family)->traits;
  return Error::success();
}

template <bool Traits::*Trait>
static Error readTrait(const Input &input, ModelSpec &model) {
  return readBool(input, model.traits.*Trait);
}

/// It is of experts, too, unless "grouped_experts" says otherwise of these.
static Error readFusedNames(const Input &input, ModelSpec &model) {
  if (Error error = readBool(input, model.traits.fusedNames))
    return error;
  model.traits.groupedExperts = model.traits.fusedNames;
  return Error::success();
}

template <int64_t ExpertSizes::*Size>
static Error readExpertSize(const Input &input, ModelSpec &model) {
  return readInteger(input, {0, sizeBounds.most}, model.experts.*Size);
}

template <int64_t LatentSizes::*Size>
static Error readLatentSize(const Input &input, ModelSpec &model) {
  return readInteger(input, {0, sizeBounds.most}, model.latent.*Size);
}

static Error readMtp(const Input &input, ModelSpec &model) {
  return readInteger(input, {0, 16}, model.mtpLayers);
}

static Error readPreset(const Input &input, ModelSpec &model) {
  if (input.node.kind != Kind::String)
    return expected(input, "the name of a preset");
  return store(lookupPreset(input.node.text, input.field), model);
}

static Error readModelName(const Input &input, ModelSpec &model) {
  return readName(input, model.name);
}

/// A config.json; its path starts where the request is.
static Error readHfConfig(const Input &input, ModelSpec &model) {
  if (input.node.kind != Kind::String)
    return expected(input, "the path of a config.json");
  llvm::SmallString<128> path(input.node.text);
  if (llvm::sys::path::is_relative(path)) {
    path = llvm::sys::path::parent_path(input.field.where.file);
    llvm::sys::path::append(path, input.node.text);
  }
  return store(readHuggingFace(path, input.field), model);
}

static Error readMegatronModel(const Input &input, ModelSpec &model) {
  if (input.node.kind != Kind::String)
    return expected(input, "the arguments of a training script");
  return modelOfMegatronArgs(input.node.text, input.field, model);
}

/// For what has been read before.
static Error skip(const Input &, ModelSpec &) { return Error::success(); }

static const MemberReader<ModelSpec> modelMembers[] = {
    {"preset", skip},
    {"name", readModelName},
    {"hf_config", skip},
    {"megatron_args", skip},
    {"family", skip},
    {"layers", readByTable},
    {"hidden", readByTable},
    {"heads", readByTable},
    {"ffn", readFfn},
    {"vocab", readByTable},
    {"seq", readByTable},
    {"tied", readByTable},
    {"kv_heads", readModelSize<&ModelSpec::kvHeads>},
    {"head_dim", readModelSize<&ModelSpec::headDim>},
    {"vocab_multiple", readModelSize<&ModelSpec::vocabMultiple>},
    {"mtp_layers", readMtp},
    {"experts", readExpertSize<&ExpertSizes::count>},
    {"expert_ffn", readExpertSize<&ExpertSizes::ffn>},
    {"shared_ffn", readExpertSize<&ExpertSizes::sharedFfn>},
    {"dense_layers", readExpertSize<&ExpertSizes::denseLayers>},
    {"q_rank", readLatentSize<&LatentSizes::queryRank>},
    {"kv_rank", readLatentSize<&LatentSizes::keyValueRank>},
    {"nope_dim", readLatentSize<&LatentSizes::plainDim>},
    {"rope_dim", readLatentSize<&LatentSizes::rotaryDim>},
    {"value_dim", readLatentSize<&LatentSizes::valueDim>},
    {"learned_positions", readTrait<&Traits::learnedPositions>},
    {"norm_bias", readTrait<&Traits::normBias>},
    {"linear_bias", readTrait<&Traits::linearBias>},
    {"qkv_bias", readTrait<&Traits::qkvBias>},
    {"gated", readTrait<&Traits::gated>},
    {"qk_norm", readTrait<&Traits::qkNorm>},
    {"router_bias", readTrait<&Traits::routerBias>},
    {"shared_gate", readTrait<&Traits::sharedGate>},
    {"tensors", readTensors},
    {"fused_names", skip},
    {"grouped_experts", readTrait<&Traits::groupedExperts>},
};

/// Reads a member before the others.
static Error readFirst(const Input &object, StringRef name,
                       Error (*read)(const Input &, ModelSpec &),
                       ModelSpec &model) {
  for (const Member &entry : object.node.members)
    if (entry.key == name)
      return read(memberOf(object, entry), model);
  return Error::success();
}

Error json::readModel(const Input &input, ModelSpec &model) {
  if (input.node.kind == Kind::String)
    return readPreset(input, model);
  if (input.node.kind != Kind::Object)
    return expected(input, "the name of a preset or an object");
  if (Error error = readFirst(input, "preset", readPreset, model))
    return error;
  if (Error error = readFirst(input, "hf_config", readHfConfig, model))
    return error;
  if (Error error = readFirst(input, "megatron_args", readMegatronModel, model))
    return error;
  if (Error error = readFirst(input, "family", readFamily, model))
    return error;
  if (Error error = readFirst(input, "fused_names", readFusedNames, model))
    return error;
  model.where = input.field.where;
  return readMembers(input, modelMembers, model);
}
