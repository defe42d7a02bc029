//===- Fields.cpp - The fields of a request -------------------------------===//

#include "etc/Request/Fields.h"

#include "Checks.h"
#include "Reader.h"
#include "etc/Request/States.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace etc::request;
using namespace etc::request::json;

// Bytes are reserved from bytes, and something has to be left of them.
static llvm::Error checkReserve(const Request &request, const Field &field) {
  const std::optional<MemoryBudget> &budget = request.memoryBudget;
  if (request.reserve == 0)
    return llvm::Error::success();
  if (!budget || budget->unit != MemoryBudget::Unit::Bytes)
    return unsatisfiable(field, "is a part of a memory budget in bytes; give "
                                "one, or leave it out");
  if (request.reserve >= budget->amount)
    return unsatisfiable(field, llvm::Twine(request.reserve) +
                                    " bytes leave nothing of the memory "
                                    "budget of " +
                                    budget->str() + "; reserve less");
  return llvm::Error::success();
}

static llvm::Error checkPaperCosts(const Request &request, const Field &field) {
  if (request.paperCosts == "merged" || request.policy == "paper")
    return llvm::Error::success();
  return malformed(field, "is of the paper's method; set the policy to "
                          "\"paper\", or leave it out");
}

// One of the two words, or types that no forward pass reads.
static llvm::Error checkDeferred(const Request &request, const Field &field) {
  std::vector<llvm::StringRef> accepted = {"none", "optimizer"};
  for (llvm::StringRef type : request.types)
    if (!isParameters(type))
      accepted.push_back(type);
  for (llvm::StringRef name : request.defer) {
    if (isParameters(name))
      return unsatisfiable(field, "the forward pass reads '" + name +
                                      "', so it can't follow; leave it out");
    if (llvm::Error error = checkWord(accepted, name, field))
      return error;
  }
  if (request.defer.size() > 1)
    for (llvm::StringRef word : {"none", "optimizer"})
      if (llvm::is_contained(request.defer, word))
        return malformed(field, "'" + word +
                                    "' stands alone; leave it or the "
                                    "others out");
  return llvm::Error::success();
}

// The forward pass reads parameters, so these have to be in the plan.
static llvm::Error checkDefer(const Request &request, const Field &field) {
  if (llvm::Error error = checkDeferred(request, field))
    return error;
  if (!request.isDeferred())
    return llvm::Error::success();
  if (request.policy == "paper")
    return unsatisfiable(field, "the paper's method defers nothing; leave the "
                                "policy or this out");
  if (request.isGiven("derive") && request.derive != "none")
    return unsatisfiable(field, "parameters that move first have no master to "
                                "be cast from; leave 'derive' out");
  if (llvm::none_of(request.types, isParameters))
    return unsatisfiable(field, "the types have no 'param' for the pause, so "
                                "the forward pass needs all that moves; leave "
                                "this out");
  if (llvm::all_of(request.types, isParameters))
    return unsatisfiable(field, "the forward pass reads all types (" +
                                    llvm::join(request.types, ", ") +
                                    "), so nothing is left to defer; leave "
                                    "this out");
  return llvm::Error::success();
}

static llvm::Error checkGradients(const Request &request, const Field &field) {
  if (request.isDeferred() || !request.isGiven("gradient_bytes"))
    return llvm::Error::success();
  return malformed(field, "is of deferred state; set \"defer\", to "
                          "\"optimizer\" for one, or leave it out");
}

// Options are applied in this order, those with an `after` last: arguments and
// presets come before the sizes that change them.
static std::vector<RequestField> makeTable() {
  return {
      {.name = "megatron_args",
       .help = "Arguments of a Megatron training script: the model and --prev",
       .example = "args",
       .stored = OwnReader{.replace = replaceByMegatronArgs},
       .inFile = false},
      {.name = "model",
       .help = "A preset: gpt2, llama3-8b, ... (an unknown one lists all), or "
               "a config.json of Hugging Face (in a request file: "
               "{\"hf_config\": \"config.json\"})",
       .example = "preset|config.json",
       .page = "models.md",
       .python = "Union[str, Mapping[str, Any], Path]",
       .stored = OwnReader{.read = readModelOf, .replace = replaceModel}},
      {.name = "model.layers",
       .help = "Override the model's layers",
       .example = "n",
       .stored = &ModelSpec::layers,
       .bounds = layerBounds},
      {.name = "model.hidden",
       .help = "Override the hidden size",
       .example = "n",
       .stored = &ModelSpec::hidden,
       .bounds = sizeBounds},
      {.name = "model.heads",
       .help = "Override the attention heads",
       .example = "n",
       .stored = &ModelSpec::heads,
       .bounds = sizeBounds},
      {.name = "model.ffn",
       .help = "Override the MLP's inner size",
       .example = "n",
       .stored = OwnReader{.read = readFfnOf, .written = Written::Number}},
      {.name = "model.vocab",
       .help = "Override the vocabulary, unpadded",
       .example = "n",
       .stored = &ModelSpec::vocab,
       .bounds = sizeBounds},
      {.name = "model.seq",
       .help = "Override the learned positions",
       .example = "n",
       .stored = &ModelSpec::seq,
       .bounds = sizeBounds},
      {.name = "model.tied",
       .help = "Whether output and input embeddings are tied",
       .example = "true|false",
       .stored = &ModelSpec::tiedEmbeddings},
      {.name = "prev",
       .help =
           "Configuration before; or the plan (.etcplan) that led to it, or "
           "an inventory (.json)",
       .example = "PP4TP2",
       .page = "inventory-format.md",
       .python = "Union[str, Mapping[str, Any], Plan]",
       .stored = OwnReader{.read = readSideOf<&Request::prev>,
                           .replace = replaceSideOf<&Request::prev>}},
      {.name = "curr",
       .help = "Configuration after; or an inventory (.json)",
       .example = "PP6TP4",
       .page = "inventory-format.md",
       .python = "Union[str, Mapping[str, Any], Plan]",
       .stored = OwnReader{.read = readSideOf<&Request::curr>,
                           .replace = replaceSideOf<&Request::curr>}},
      {.name = "cluster",
       .help = "Nodes x devices a node, or the devices of each node: 4,4,8; "
               "behind an @ what links and NICs carry: h100, gb200, or a file "
               "(h100 is assumed)",
       .example = "6x4@h100",
       .page = "cluster-format.md",
       .python = "Union[str, Mapping[str, Any], Sequence[int]]",
       .stored = OwnReader{.read = readClusterOf}},
      {.name = "hosts",
       .help = "The name of every node, for the files of --emit=ranks",
       .example = "names",
       .otherwise = "node0, node1, ...",
       .page = "ranks.md",
       .python = "Sequence[str]",
       .stored = OwnReader{.read = readHosts, .written = Written::Texts},
       .check = checkHosts},
      {.name = "failed",
       .help = "Devices that are dead: their state is gone, and they take no "
               "role",
       .example = "0-7,12",
       .otherwise = "none",
       .stored = &Request::failed,
       .check = checkFailed},
      {.name = "draining",
       .olderName = "leaving",
       .help = "Devices that may send but take no role",
       .example = "0-7,12",
       .otherwise = "none",
       .stored = &Request::draining,
       .check = checkDraining},
      {.name = "types",
       .help = "State types: with Adam, of param,master,exp_avg,exp_avg_sq",
       .example = "list",
       .otherwise = "all",
       .python = "Collection[str]",
       .stored = OwnReader{.read = readTypes, .written = Written::Texts},
       .after = After::States,
       .check = checkTypes},
      {.name = "optimizer",
       .help = "The optimizer, which says what states there are",
       .stored = &ModelSpec::optimizer,
       .words = optimizerNames(),
       .after = After::Model},
      {.name = "precision",
       .help = "The element type of parameters",
       .stored = &ModelSpec::precision,
       .words = precisionNames(),
       .after = After::Model},
      {.name = "derive",
       .help = "What is cast where its source lands, not moved",
       .page = "derived-state.md",
       .stored = &Request::derive,
       .words = {"param", "none"}},
      {.name = "policy",
       .help = "Planning policy: the best plan, or what the paper does",
       .page = "paper-policy.md",
       .stored = &Request::policy,
       .words = {"best", "paper"}},
      {.name = "paper_costs",
       .help = "Under --policy=paper, the matrix to solve: as the paper merges "
               "it, or exact units (layers x slices)",
       .page = "paper-policy.md",
       .stored = &Request::paperCosts,
       .words = {"merged", "units"},
       .check = checkPaperCosts},
      {.name = "place",
       .help =
           "Where roles may go: tensor-parallel groups inside nodes, on the "
           "fewest of them (pack) or on all (tp); or any device",
       .page = "placement.md",
       .stored = &Request::place,
       .words = {"pack", "tp", "any"}},
      {.name = "objective",
       .help = "What comes first: the bytes between nodes, on routes that take "
               "least time; those bytes alone; or all bytes. If it is named, "
               "least time is looked for however long that takes",
       .page = "routing.md",
       .stored = &Request::objective,
       .words = {"time", "internode", "total"}},
      {.name = "memory_budget",
       .help = "Live bytes a device, staging included",
       .example = "bytes|1.05x",
       .otherwise = "1.05x max(prev, curr), or 2% above the least found",
       .python = "Union[int, str]",
       .stored = OwnReader{.read = readBudget}},
      {.name = "reserve",
       .help = "Bytes of a memory budget in bytes that the migration leaves "
               "free, for what else a device holds meanwhile",
       .example = "bytes",
       .otherwise = "0",
       .stored = &Request::reserve,
       .bounds = {0, int64_t(1) << 62},
       .check = checkReserve},
      {.name = "defer",
       .help = "What moves after the pause, while the first step of the new "
               "configuration computes: nothing, all but the parameters, or "
               "these types",
       .example = "none|optimizer|types",
       .otherwise = "none",
       .page = "deferred.md",
       .python = "Union[Literal[\"none\", \"optimizer\"], Collection[str]]",
       .stored = OwnReader{.read = readDefer, .written = Written::Texts},
       .check = checkDefer},
      {.name = "gradient_bytes",
       .help = "Bytes of a gradient for each parameter of a device, beside "
               "deferred state",
       .example = "bytes",
       .otherwise = "4",
       .stored = &Request::gradientBytes,
       .bounds = {0, 1024},
       .check = checkGradients},
  };
}

llvm::ArrayRef<RequestField> etc::request::requestFields() {
  static const std::vector<RequestField> table = makeTable();
  return table;
}

const RequestField &etc::request::requestField(llvm::StringRef name) {
  auto found = llvm::find_if(requestFields(), [&](const RequestField &field) {
    return field.name == name;
  });
  assert(found != requestFields().end() && "no such field");
  return *found;
}
