//===- States.cpp - What is kept of every parameter -----------------------===//

#include "etc/Request/States.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc::request;
using llvm::StringRef;

namespace {
/// A table of states under a name.
struct Table {
  StringRef name;
  std::vector<State> states;
};
} // namespace

// What a model computes with. In mixed precision the parameter is the cast of
// its master copy after every optimizer step. FP8 parameters and the scales of
// their blocks are computed from it as well, but by the trainer's own recipe:
// neither is moved.
static const std::vector<Table> &precisionTable() {
  static const State master = {.name = "master", .dtype = "fp32"};
  static const std::vector<Table> table = {
      {"bf16",
       {{.name = "param",
         .dtype = "bf16",
         .owner = Owner::Parameter,
         .derivedFrom = "master"},
        master}},
      {"fp16",
       {{.name = "param",
         .dtype = "fp16",
         .owner = Owner::Parameter,
         .derivedFrom = "master"},
        master}},
      {"fp32", {{.name = "param", .dtype = "fp32", .owner = Owner::Parameter}}},
      {"fp8",
       {{.name = "param",
         .dtype = "u8",
         .owner = Owner::Parameter,
         .derivedFrom = "master",
         .recomputed = true},
        {.name = "scale",
         .dtype = "fp32",
         .owner = Owner::Parameter,
         .axes = KeptAxes::Blocks,
         .derivedFrom = "master",
         .recomputed = true},
        master}},
      {"mxfp8",
       {{.name = "param",
         .dtype = "u8",
         .owner = Owner::Parameter,
         .derivedFrom = "master",
         .recomputed = true},
        {.name = "scale",
         .dtype = "u8",
         .owner = Owner::Parameter,
         .axes = KeptAxes::Blocks,
         .derivedFrom = "master",
         .recomputed = true},
        master}},
  };
  return table;
}

// Factored moments are means over the rows or the columns of the whole matrix,
// whatever is cut: a rank that has a part of the axis that is averaged over
// holds the same as all others of its group.
static const std::vector<Table> &optimizerTable() {
  static const std::vector<Table> table = {
      {"adam",
       {{.name = "exp_avg", .dtype = "fp32"},
        {.name = "exp_avg_sq", .dtype = "fp32"}}},
      // Megatron's --use-precision-aware-optimizer with bf16 moments.
      {"adam-bf16",
       {{.name = "exp_avg", .dtype = "bf16"},
        {.name = "exp_avg_sq", .dtype = "bf16"}}},
      // Muon orthogonalizes whole matrices; Adam has the rest.
      {"muon",
       {{.name = "momentum_buffer",
         .dtype = "fp32",
         .owner = Owner::WholeMatrix,
         .subjects = Subjects::HiddenMatrices},
        {.name = "exp_avg",
         .dtype = "fp32",
         .subjects = Subjects::NoHiddenMatrices},
        {.name = "exp_avg_sq",
         .dtype = "fp32",
         .subjects = Subjects::NoHiddenMatrices}}},
      {"adafactor",
       {{.name = "exp_avg_sq_row",
         .dtype = "fp32",
         .owner = Owner::Parameter,
         .subjects = Subjects::Matrices,
         .axes = KeptAxes::Rows},
        {.name = "exp_avg_sq_col",
         .dtype = "fp32",
         .owner = Owner::Parameter,
         .subjects = Subjects::Matrices,
         .axes = KeptAxes::Columns},
        {.name = "exp_avg_sq",
         .dtype = "fp32",
         .owner = Owner::Parameter,
         .subjects = Subjects::Vectors}}},
      {"sgd", {{.name = "momentum_buffer", .dtype = "fp32"}}},
      {"lion", {{.name = "exp_avg", .dtype = "fp32"}}},
  };
  return table;
}

static const Table *find(const std::vector<Table> &tables, StringRef name) {
  auto found = llvm::find_if(
      tables, [&](const Table &table) { return table.name == name; });
  return found == tables.end() ? nullptr : &*found;
}

static std::vector<StringRef> namesOf(const std::vector<Table> &tables) {
  std::vector<StringRef> names;
  for (const Table &table : tables)
    names.push_back(table.name);
  return names;
}

std::vector<StringRef> etc::request::precisionNames() {
  return namesOf(precisionTable());
}

std::vector<StringRef> etc::request::optimizerNames() {
  return namesOf(optimizerTable());
}

std::vector<State> etc::request::statesOf(StringRef precision,
                                          StringRef optimizer) {
  std::vector<State> states;
  if (const Table *table = find(precisionTable(), precision))
    states = table->states;
  if (const Table *table = find(optimizerTable(), optimizer))
    llvm::append_range(states, table->states);
  return states;
}

std::vector<State> etc::request::statesOf(const ModelSpec &model) {
  std::vector<State> states;
  if (!model.ownStates.empty()) {
    for (const auto &[name, dtype] : model.ownStates)
      states.push_back({.name = name, .dtype = dtype});
    return states;
  }
  states = statesOf(model.precision, model.optimizer);
  for (const auto &[name, dtype] : model.stateDTypes)
    for (State &state : states)
      if (state.name == name)
        state.dtype = dtype;
  // Only an fp32 master can be cast bit for bit.
  for (const State &master : states)
    if (master.name == "master" && master.dtype != "fp32")
      for (State &state : states)
        if (!state.recomputed)
          state.derivedFrom = {};
  return states;
}

bool etc::request::isParameters(StringRef type) {
  return type == "param" || type.starts_with("param.") || type == "buffer";
}

std::vector<StringRef> etc::request::typeNames(const ModelSpec &model) {
  std::vector<StringRef> names;
  for (const State &state : statesOf(model))
    if (!state.recomputed)
      names.push_back(state.name);
  return names;
}

bool etc::request::canDistribute(const ModelSpec &model) {
  return llvm::all_of(statesOf(model), [](const State &state) {
    return state.owner == Owner::FlatRange || state.recomputed ||
           state.name == "param";
  });
}
