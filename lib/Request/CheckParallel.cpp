//===- CheckParallel.cpp - Whether a configuration can run a model --------===//

#include "Checks.h"
#include "Scalars.h"
#include "Stages.h"
#include "etc/Request/States.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace etc::request;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static Error checkChunks(const ModelSpec &model, const Parallelism &parallel,
                         const Field &field) {
  if (parallel.stages.empty())
    return Error::success();
  int64_t chunks = parallel.pp * parallel.vpp;
  int64_t given = static_cast<int64_t>(parallel.stages.size());
  if (given != chunks)
    return unsatisfiable(field, "expected the layers of " + Twine(chunks) +
                                    " chunks (pp * vpp), got " + Twine(given));
  int64_t sum = std::accumulate(parallel.stages.begin(), parallel.stages.end(),
                                int64_t(0));
  if (sum == model.layers)
    return Error::success();
  return unsatisfiable(field, "the stages have " + Twine(sum) +
                                  " layers in all, but the model has " +
                                  Twine(model.layers) + "; " +
                                  (sum < model.layers ? "add " : "remove ") +
                                  Twine(std::abs(sum - model.layers)));
}

static Error checkStages(const ModelSpec &model, const Parallelism &parallel,
                         const Field &field) {
  int64_t pp = parallel.pp, vpp = parallel.vpp;
  if (vpp > 1 && pp == 1)
    return unsatisfiable(field, "vpp = " + Twine(vpp) +
                                    " interleaves stages, but pp = 1 has only "
                                    "one; use vpp = 1 or pp = 2");
  if (parallel.mtpStage >= pp || (parallel.mtpStage >= 0 && !model.mtpLayers))
    return unsatisfiable(
        field, "mtp: stage " + Twine(parallel.mtpStage) +
                   (model.mtpLayers
                        ? " is not one of the " + std::to_string(pp) +
                              " stages; use 0 to " + std::to_string(pp - 1)
                        : " is named, but the model predicts one token only"));
  if (!parallel.stages.empty())
    return Error::success(); // by checkChunks
  if (model.layers % pp != 0)
    return unsatisfiable(field,
                         Twine(model.layers) +
                             " layers do not divide over pp = " + Twine(pp) +
                             "; " + useDivisor("pp", model.layers, pp) +
                             ", or layers_per_stage");
  int64_t layers = model.layers / pp;
  if (layers % vpp != 0)
    return unsatisfiable(field, Twine(layers) +
                                    " layers of a stage do not divide over "
                                    "vpp = " +
                                    Twine(vpp) + "; " +
                                    useDivisor("vpp", layers, vpp));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

namespace {
/// A number of heads or rows that tensor parallelism must divide.
struct Divided {
  std::string tensor;
  int64_t size;
  StringRef what;
};
} // namespace

/// All that `tp` must divide. The rest follows: hidden, where it is cut, from
/// the heads, which divide it.
static std::vector<Divided> dividedByTp(const ModelSpec &model) {
  std::vector<Divided> all;
  auto add = [&](const Twine &tensor, int64_t size, StringRef what) {
    if (size)
      all.push_back({tensor.str(), size, what});
  };
  if (model.family == "table") {
    for (const TensorSpec &row : model.tensors)
      if (row.split >= 0 && !row.vocabRows &&
          !StringRef(row.name).contains("{expert}"))
        add(row.name, row.shape[row.split], "rows");
    return all;
  }
  const ExpertSizes &experts = model.experts;
  bool latent = model.traits.latentAttention;
  std::string attention = "self_attention.";
  add(attention + (latent ? "linear_kv_up_proj" : "linear_qkv") + ".weight",
      model.heads, "attention heads");
  if (latent && !model.traits.fusedNames) {
    add(attention + "linear_q_down_proj.weight", model.latent.queryRank,
        "rows");
    add(attention + "linear_kv_down_proj.weight",
        model.latent.keyValueRank + model.latent.rotaryDim, "rows");
  }
  if (!experts.count || experts.denseLayers)
    add("mlp.linear_fc1.weight", model.ffn, "rows");
  add("mlp.shared_experts.linear_fc1.weight", experts.sharedFfn, "rows");
  if (model.mtpLayers)
    add("mtp.layers.0.eh_proj.weight", model.hidden, "rows");
  return all;
}

/// What divides all `common` rows and heads may still not divide over key-value
/// heads: `tp` is a divisor or a multiple of these, and so are the rows.
static bool fitsKeyValueHeads(const ModelSpec &model, int64_t tp) {
  if (model.family == "table" || model.traits.latentAttention)
    return true;
  const int64_t groups = model.keyValueHeads();
  const int64_t rows = (model.heads + 2 * groups) * model.channels();
  return (groups % tp == 0 || tp % groups == 0) && rows % tp == 0;
}

/// Without an etp, routed experts are divided over tp ranks as well.
static bool dividesExperts(const ModelSpec &model, const Parallelism &parallel,
                           int64_t tp) {
  if (parallel.etp != 0)
    return true;
  if (model.family != "table")
    return model.experts.ffn % tp == 0;
  return llvm::all_of(model.tensors, [&](const TensorSpec &row) {
    return row.split < 0 || !StringRef(row.name).contains("{expert}") ||
           row.shape[row.split] % tp == 0;
  });
}

static Error checkTensorParallel(const ModelSpec &model,
                                 const Parallelism &parallel,
                                 const Field &field) {
  int64_t tp = parallel.tp, common = 0;
  std::vector<Divided> all = dividedByTp(model);
  for (const Divided &entry : all)
    common = std::gcd(common, entry.size);
  // Which does for all of them.
  auto remedy = [&] {
    return "; " + useNearest("tp", common, tp, [&](int64_t other) {
             return common % other == 0 && fitsKeyValueHeads(model, other) &&
                    dividesExperts(model, parallel, other);
           });
  };
  for (const Divided &entry : all)
    if (entry.size % tp != 0)
      return unsatisfiable(
          field, entry.tensor + ": " + Twine(entry.size) + " " + entry.what +
                     " do not divide over tp = " + Twine(tp) + remedy());
  if (fitsKeyValueHeads(model, tp))
    return Error::success();
  const int64_t groups = model.keyValueHeads();
  const StringRef tensor = "self_attention.linear_qkv.weight: ";
  if (groups % tp != 0 && tp % groups != 0)
    return unsatisfiable(field, tensor + "tp = " + Twine(tp) +
                                    " is neither a divisor nor a multiple of " +
                                    Twine(groups) + " key-value heads" +
                                    remedy());
  return unsatisfiable(
      field, tensor + Twine((model.heads + 2 * groups) * model.channels()) +
                 " rows do not divide over tp = " + Twine(tp) + remedy());
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

static Error checkExpertTensors(const ModelSpec &model,
                                const Parallelism &parallel,
                                const Field &field) {
  int64_t etp = parallel.expertTp();
  auto refuse = [&](const Twine &tensor, int64_t rows) {
    return unsatisfiable(field, tensor + ": " + Twine(rows) +
                                    " rows of an expert do not divide over "
                                    "etp = " +
                                    Twine(etp) + "; " +
                                    useDivisor("etp", rows, etp));
  };
  if (model.family != "table")
    return model.experts.ffn % etp == 0
               ? Error::success()
               : refuse("mlp.experts.linear_fc1.weight", model.experts.ffn);
  for (const TensorSpec &row : model.tensors)
    if (row.split >= 0 && StringRef(row.name).contains("{expert}") &&
        row.shape[row.split] % etp != 0)
      return refuse(row.name, row.shape[row.split]);
  return Error::success();
}

static Error checkExpertGrid(const ModelSpec &model,
                             const Parallelism &parallel, const Field &field) {
  int64_t ep = parallel.ep, etp = parallel.expertTp();
  int64_t experts = model.experts.count;
  if (ep > 1 && !experts)
    return unsatisfiable(field, "ep = " + Twine(ep) +
                                    " needs a model with experts; use ep = 1");
  if (etp != parallel.tp && !experts)
    return unsatisfiable(field, "etp = " + Twine(etp) +
                                    " needs a model with experts; leave etp "
                                    "out");
  if (experts % ep != 0)
    return unsatisfiable(field,
                         "mlp.experts: " + Twine(experts) +
                             " experts do not divide over ep = " + Twine(ep) +
                             "; " + useDivisor("ep", experts, ep));
  int64_t ranks = parallel.stageSize();
  if (ranks % (etp * ep) != 0)
    return unsatisfiable(field, "etp * ep = " + Twine(etp * ep) +
                                    " does not divide the " + Twine(ranks) +
                                    " ranks of a stage (tp * cp * dp); " +
                                    useDivisor("etp * ep", ranks, etp * ep));
  if (experts && ep == 1 && parallel.tp % etp != 0)
    return unsatisfiable(field,
                         "etp = " + Twine(etp) +
                             " does not divide tp = " + Twine(parallel.tp) +
                             "; without expert parallelism experts "
                             "share the data-parallel groups of the "
                             "rest; " +
                             useDivisor("etp", parallel.tp, etp));
  if (experts && etp > 1 && model.traits.linearBias)
    return unsatisfiable(field, "mlp.experts.linear_fc1.bias: Megatron has "
                                "biases of experts with etp = 1 only, got "
                                "etp = " +
                                    Twine(etp));
  // Both grids have the same pipeline groups only if, with stages inside of
  // replicas, they repeat alike.
  int64_t inner = parallel.tp * parallel.cp;
  if (parallel.order == RankOrder::TpCpEpPpDp && parallel.pp > 1 &&
      inner != etp * ep)
    return unsatisfiable(
        field, "order tp-cp-ep-pp-dp needs tp * cp = etp * ep, so that experts "
               "have the pipeline groups of the rest, but " +
                   Twine(inner) + " is not " + Twine(etp * ep) +
                   "; use order tp-cp-ep-dp-pp or etp * ep = " + Twine(inner));
  return checkExpertTensors(model, parallel, field);
}

/// Flat ranges are cut of what is laid out as the parameters are, element by
/// element.
static Error checkOptimizer(const ModelSpec &model, const Parallelism &parallel,
                            const Field &field) {
  if (parallel.bucketSize && !parallel.distributedOptimizer)
    return unsatisfiable(
        field,
        "buckets are cut into ranges by the distributed optimizer alone; "
        "leave bucket_size out or use distributed_optimizer = true");
  if (!parallel.distributedOptimizer || canDistribute(model))
    return Error::success();
  for (const State &state : statesOf(model))
    if (state.name != "param" && state.owner != Owner::FlatRange)
      return unsatisfiable(
          field,
          "distributed_optimizer: " + state.name + " of " + model.optimizer +
              (state.owner == Owner::WholeMatrix
                   ? " is of whole matrices"
                   : " is not laid out as parameters are") +
              ", which flat ranges would cut; use distributed_optimizer = "
              "false");
  return Error::success();
}

/// Of a table, a row that the trainer sees may be no row of the planning shape.
static Error checkRows(const ModelSpec &model, const Field &field) {
  for (const TensorSpec &row : model.tensors) {
    int64_t rows = 1;
    for (size_t axis = 0; axis < row.shape.size(); ++axis)
      if (!row.view.empty() && rows < row.view.front())
        rows *= row.shape[axis];
    if (!row.view.empty() && rows != row.view.front())
      return unsatisfiable(field, row.name + ": the " +
                                      Twine(row.view.front()) +
                                      " rows of its view are no whole axes of "
                                      "its shape, so that FSDP can't cut them; "
                                      "give a shape that begins with them");
  }
  return Error::success();
}

/// FSDP cuts what is laid out as parameters are by rows, over data-parallel
/// ranks in a row.
static Error checkShards(const ModelSpec &model, const Parallelism &parallel,
                         const Field &field) {
  if (parallel.fsdp == 1)
    return Error::success();
  if (parallel.dp % parallel.fsdp != 0)
    return unsatisfiable(
        field, "fsdp = " + Twine(parallel.fsdp) +
                   " does not divide dp = " + Twine(parallel.dp) + "; " +
                   useDivisor("fsdp", parallel.dp, parallel.fsdp));
  if (parallel.distributedOptimizer)
    return unsatisfiable(field, "FSDP cuts optimizer states with the "
                                "parameters, and the distributed optimizer "
                                "cuts them alone; leave one of the two out");
  if (parallel.cp != 1)
    return unsatisfiable(field, "count context-parallel ranks in, as FSDP" +
                                    Twine(parallel.fsdp * parallel.cp) +
                                    ", and leave cp out");
  if (parallel.ep != 1 || parallel.expertTp() != parallel.tp)
    return unsatisfiable(field, "FSDP has no word for experts that are cut in "
                                "another way than the rest; leave ep and etp "
                                "out, or give the boxes in an inventory");
  if (!canDistribute(model))
    return unsatisfiable(field, "the states of " + model.optimizer + " in " +
                                    model.precision +
                                    " are not all laid out as parameters are, "
                                    "which FSDP would cut; use dp instead");
  return checkRows(model, field);
}

/// Every size is at most 2^20, and so is the world: products stay exact.
static Error checkWorldSize(const Parallelism &parallel, const Field &field) {
  __int128 world = 1;
  for (int64_t size : {parallel.pp, parallel.tp, parallel.dp, parallel.cp})
    world *= size;
  __int128 experts = static_cast<__int128>(parallel.expertTp()) * parallel.ep;
  __int128 most = __int128(1) << 60;
  if (world <= most && experts <= most)
    return Error::success();
  return unsatisfiable(
      field, parallel.str() + " needs more than 2^60 devices; use at most " +
                 Twine(maxDevices) + " ranks");
}

Error etc::request::checkParallel(const Request &request, const SideSpec &side,
                                  StringRef name) {
  const ModelSpec &model = request.model;
  Field field = fieldAt(side.where, name);
  if (Error error = checkWorldSize(side.parallel, field))
    return error;
  // What the split of a side can't give has been left undone until here.
  SideSpec resolved = side;
  if (Error error = resolveStages(resolved, model.layers, field))
    return error;
  if (Error error = checkStages(model, resolved.parallel, field))
    return error;
  if (Error error = checkChunks(
          model, resolved.parallel,
          side.stagesWhere.file.empty()
              ? field
              : fieldAt(side.stagesWhere, (name + ".layers_per_stage").str())))
    return error;
  for (auto check :
       {checkTensorParallel, checkExpertGrid, checkOptimizer, checkShards})
    if (Error error = check(model, resolved.parallel, field))
      return error;
  return Error::success();
}
