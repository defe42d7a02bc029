//===- Request.h - What is asked of the planner -----------------*- C++ -*-===//
//
// A request: the previous and the current configuration, the model and the
// cluster. It comes from a JSON file, from command-line options, or from a file
// whose fields options override:
//
//   parseRequest -> applyOverrides -> checkRequest
//   requestFromOptions             -> checkRequest
//
// Nothing may be planned from a request that checkRequest has not passed.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_REQUEST_REQUEST_H
#define ETC_REQUEST_REQUEST_H

#include "etc/Request/Diagnostic.h"
#include "etc/Request/Inventory.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etc::plan {
class PlanFile;
}

namespace etc::request {

/// The order in which a grid numbers its ranks: the first dimension varies
/// fastest.
enum class RankOrder {
  TpCpEpDpPp, ///< Megatron's default
  TpCpEpPpDp, ///< with --use-tp-pp-dp-mapping
};

/// A hybrid-parallel configuration: the sizes of the grid, named as in
/// Megatron-Core, how it numbers ranks, and how it cuts layers and optimizer
/// states.
struct Parallelism {
  int64_t pp = 1;  ///< pipeline stages
  int64_t tp = 1;  ///< tensor-parallel ranks of a stage
  int64_t dp = 1;  ///< data-parallel replicas
  int64_t cp = 1;  ///< context-parallel ranks: further replicas of the weights
  int64_t ep = 1;  ///< expert-parallel ranks
  int64_t etp = 0; ///< tensor-parallel ranks of an expert; 0: as many as tp
  int64_t vpp = 1; ///< model chunks (virtual stages) of a stage
  /// Data-parallel ranks in a row that share one copy of all state, cut by rows
  /// as torch's fully_shard does it: dp is all of them (FSDP), or a multiple
  /// (HSDP). 1: each rank has a copy.
  int64_t fsdp = 1;
  RankOrder order = RankOrder::TpCpEpDpPp;
  /// The layers of every chunk in forward order: entry k * pp + p is chunk k of
  /// stage p. Empty where all are equal.
  std::vector<int64_t> stages = {};
  /// Optimizer states are flat ranges over the data- and context-parallel
  /// ranks (Megatron's distributed optimizer, ZeRO-1).
  bool distributedOptimizer = false;
  /// The first stage's first chunk has its parameters in buckets that close at
  /// so many elements, each cut into ranges of its own (Megatron's
  /// --overlap-grad-reduce); 0: one bucket; defaultBuckets: as Megatron
  /// chooses.
  int64_t bucketSize = 0;
  static constexpr int64_t defaultBuckets = -1;
  /// The stage of the multi-token-prediction layers; -1: the last.
  int64_t mtpStage = -1;

  /// The number of ranks.
  int64_t world() const { return pp * tp * cp * dp; }
  /// The tensor-parallel ranks of an expert.
  int64_t expertTp() const { return etp ? etp : tp; }
  /// Whether the replicas of a rank hold state of their own.
  bool hasRanges() const { return distributedOptimizer || fsdp > 1; }
  /// The ranks of a stage.
  int64_t stageSize() const { return tp * cp * dp; }
  /// How often the expert grid repeats in a stage.
  int64_t expertDp() const { return stageSize() / (expertTp() * ep); }
  /// bucketSize, with Megatron's choice worked out: at least 40 million, and a
  /// million for each rank.
  int64_t bucketElements() const;
  /// After how many ranks of a stage the weights repeat: lcm(tp, etp * ep).
  int64_t slots() const;
  /// How often a stage holds its weights: tp * cp * dp / slots.
  int64_t replicas() const { return tp * cp * dp / slots(); }
  /// The shorthand, `PP4TP2`: sizes of 1 are left out, `PP1` when all are. What
  /// is not a size follows: `PP2TP2DP4+zero1+stages=5:4+order=pp-dp+mtp=0`.
  /// Sharded replicas are `FSDP8`, or `HSDP2x4` (2 replicas of 4 shards).
  std::string str() const;

  bool operator==(const Parallelism &) const = default;
};

/// How a side asks for its layers to be cut, in Megatron's words. It becomes
/// Parallelism::stages as soon as the model's layers are known.
struct PipelineSplit {
  std::optional<int64_t> firstStage, lastStage; ///< layers of these stages
  bool accountForEmbedding = false, accountForLoss = false;
  std::string layout; ///< "Et*3|(tt|)*29,m|L", or empty

  bool given() const {
    return firstStage || lastStage || accountForEmbedding || accountForLoss ||
           !layout.empty();
  }
};

struct ModelSpec;

/// One side of a migration: a configuration and where its ranks are.
struct SideSpec {
  Parallelism parallel;
  PipelineSplit split;
  /// Layers of a chunk, where the side says so instead of how many chunks there
  /// are; 0: it does not.
  int64_t layersPerChunk = 0;
  /// Whether dp is as much as the cluster has devices for.
  bool fillsCluster = false;
  /// The model that the side's training arguments describe, if they do. It must
  /// be that of the request, and is it where the request names none.
  std::shared_ptr<const ModelSpec> model;
  /// The device of every rank; rank r is on device r (prev) or wherever the
  /// planner likes (curr) without it.
  std::optional<std::vector<int64_t>> devices;
  /// What devices or roles hold, in place of a configuration: ranks are the
  /// roles of the inventory, whatever `parallel` says but their number, its dp.
  std::shared_ptr<const Inventory> inventory;
  /// What the plan that the side was read from calls its model; it must be the
  /// request's. Empty without a plan.
  std::string plannedModel;
  /// That plan, whose tensors must be the request's, too.
  std::shared_ptr<const plan::PlanFile> planned;
  /// Whether the request names this side at all.
  bool given = false;
  SourceLocation where, devicesWhere, stagesWhere;

  /// As messages call it: the shorthand, or "the inventory".
  std::string str() const;
};

/// Which tensors the layers of a model have, beside those that all have.
struct Traits {
  bool learnedPositions = false; ///< else rotary ones, which have no tensor
  bool normBias = false;         ///< LayerNorm; RMSNorm has none
  bool linearBias = false;       ///< of every linear layer but experts
  bool qkvBias = false;          ///< of linear_qkv alone
  bool gated = false;            ///< linear_fc1 is [gate; up]
  bool qkNorm = false;           ///< norms of queries and keys
  bool latentAttention = false;  ///< multi-latent attention (DeepSeek)
  bool routerBias = false;       ///< a bias that balances experts, no parameter
  bool sharedGate = false;       ///< a gate of the shared experts
  /// Names of Transformer Engine's modules: norms are inside of linear_qkv and
  /// linear_fc1.
  bool fusedNames = false;
  /// The experts of a rank are inside of grouped linear layers, not modules of
  /// their own.
  bool groupedExperts = false;

  bool operator==(const Traits &) const = default;
};

/// The sizes of a mixture of experts; without experts all are 0.
struct ExpertSizes {
  int64_t count = 0;       ///< routed experts of a layer
  int64_t ffn = 0;         ///< the inner size of one
  int64_t sharedFfn = 0;   ///< of all shared experts together; 0: there is none
  int64_t denseLayers = 0; ///< the first layers, which have an MLP instead

  bool operator==(const ExpertSizes &) const = default;
};

/// The sizes of multi-latent attention.
struct LatentSizes {
  int64_t queryRank = 0; ///< 0: queries are not compressed
  int64_t keyValueRank = 0;
  int64_t plainDim = 0, rotaryDim = 0; ///< of a query's head
  int64_t valueDim = 0;                ///< of a value's head

  bool operator==(const LatentSizes &) const = default;
};

/// A tensor of a model that is given as a plain table.
struct TensorSpec {
  std::string name;  ///< with "{layer}" and "{expert}"
  std::string block; ///< "embed", "layer", "final", "head" or "mtp"
  std::vector<int64_t> shape = {};
  int64_t split = -1; ///< the axis that tensor parallelism cuts
  bool vocabRows = false;
  std::string tiedTo = {};
  std::optional<Span> layers = {};
  /// The shape that the trainer sees; empty: the same.
  std::vector<int64_t> view = {};
  /// The states that it has; empty: those that the optimizer's table says.
  std::vector<std::string> types = {};

  bool operator==(const TensorSpec &) const = default;
};

/// The shape of a model. Sizes of 0 are not given (checkRequest refuses them).
struct ModelSpec {
  std::string name; ///< the preset's, or "custom"
  std::string family = "gpt";
  Traits traits = {.learnedPositions = true,
                   .normBias = true,
                   .linearBias = true,
                   .qkvBias = true};
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t heads = 0;   ///< attention heads
  int64_t ffn = 0;     ///< the inner size of the MLP; 4 * hidden unless given
  int64_t vocab = 0;   ///< without padding
  int64_t seq = 0;     ///< the number of learned positions
  int64_t kvHeads = 0; ///< key-value heads (query groups); 0: as many as heads
  int64_t headDim = 0; ///< channels of a head; 0: hidden / heads
  int64_t mtpLayers = 0; ///< multi-token-prediction layers
  ExpertSizes experts;
  LatentSizes latent;
  /// The rows of a vocabulary are padded to a multiple of this times tp.
  int64_t vocabMultiple = 128;
  std::vector<TensorSpec> tensors; ///< of the family "table"
  /// What decides the state types (States.h): the element type of parameters,
  /// and the optimizer, of which some states may have an element type of their
  /// own.
  std::string precision = "bf16", optimizer = "adam";
  std::vector<std::pair<std::string, std::string>> stateDTypes = {};
  /// All states, by name and element type, where no optimizer says them; empty:
  /// those of the precision and the optimizer.
  std::vector<std::pair<std::string, std::string>> ownStates = {};
  bool tiedEmbeddings = true;
  /// Whether `ffn` was given, and stays when `hidden` is overridden.
  bool ffnGiven = false;
  SourceLocation where;

  int64_t keyValueHeads() const { return kvHeads ? kvHeads : heads; }
  int64_t channels() const { return headDim ? headDim : hidden / heads; }
};

/// Whether both have the same tensors and states, whatever they are called and
/// wherever they stand.
bool isSameModel(const ModelSpec &a, const ModelSpec &b);

/// The most memory a migration may take on a device: bytes, or a multiple of
/// max(prev, curr), exact in parts per million (1.05x is 1 050 000).
struct MemoryBudget {
  enum class Unit { Bytes, PartsPerMillion };
  Unit unit = Unit::Bytes;
  int64_t amount = 0;

  /// The budget in bytes of a device whose max(prev, curr) is given; rounded
  /// down.
  int64_t bytesFor(int64_t maxOfPrevAndCurr) const;
  /// As it is written in a request: `1.05x`, or the bytes.
  std::string str() const;

  bool operator==(const MemoryBudget &) const = default;
};

/// What the links and NICs of a cluster carry: bytes a second, of each
/// direction, and nanoseconds until the first byte arrives. A node of n devices
/// has `nics` NICs, and its device i uses NIC i * nics / n.
struct ClusterRates {
  std::string name; ///< for people
  int64_t linkRate, linkLatency;
  int64_t nics, nicRate, nicLatency;
  int64_t packRate;     ///< what a device packs, unpacks and copies
  int64_t acks;         ///< ppm of a NIC's way back that acknowledgements take
  bool assumed = false; ///< nobody named a cluster
};

/// Those of H100 GPUs with a NIC each, on nodes of so many devices: assumed
/// where a request names no cluster.
ClusterRates assumedRates(llvm::ArrayRef<int64_t> nodes);

/// Those of a shipped cluster ("h100"), or of a file (docs/cluster-format.md).
/// All errors are Malformed.
llvm::Expected<ClusterRates> ratesOf(llvm::StringRef nameOrPath,
                                     const Field &field);

struct Request {
  ModelSpec model;
  SideSpec prev, curr;
  /// The number of devices of each node. Devices are numbered through the
  /// cluster, node by node.
  std::vector<int64_t> nodes;
  ClusterRates rates = assumedRates({});
  /// The name of each node, for who starts processes; a plan has none. Empty:
  /// they are not given.
  std::vector<std::string> hosts;
  /// Workload types, in the order of typeNames(), without repeats. All of the
  /// model's, unless they are given.
  std::vector<std::string> types;
  /// Devices that are dead, and devices that may send but take no role.
  /// Ascending, without repeats.
  std::vector<int64_t> failed, draining;
  // The words that these may be stand in the table of fields (Fields.h).
  std::string derive, policy, paperCosts, place, objective;
  std::optional<MemoryBudget> memoryBudget;
  /// Bytes of the budget that a migration leaves free; 0 unless the budget is
  /// in bytes and larger.
  int64_t reserve = 0;
  /// What moves after the pause: "none"; "optimizer", all that a forward pass
  /// does not read; or types. Ascending, without repeats.
  std::vector<std::string> defer = {"none"};
  /// Bytes of a gradient for each parameter, beside the deferred part.
  int64_t gradientBytes = 4;

  /// Where the request begins; a missing field is reported there.
  SourceLocation where;
  /// Where the fields that are given stand, by the table's names.
  std::map<std::string, SourceLocation, std::less<>> places;

  /// All types, and the default of every word.
  Request();

  bool isGiven(llvm::StringRef field) const {
    return places.count(std::string_view(field));
  }
  /// Where a field stands, or else the request.
  const SourceLocation &whereOf(llvm::StringRef field) const;
  /// The number of devices of the cluster.
  int64_t deviceCount() const;
  bool isTotalFirst() const { return objective == "total"; }
  bool isDeferred() const { return defer.front() != "none"; }
  bool defers(llvm::StringRef type) const;
  /// Whether parameters move as they are. In the pause there is no master to
  /// cast them from.
  bool movesParameters() const { return derive == "none" || isDeferred(); }
  bool isByTime() const { return objective == "time"; }
  /// Whether the device may take a role: neither failed nor draining.
  bool isUsable(int64_t device) const;
};

/// What options say of fields, as it was written; an absent one changes
/// nothing.
struct Overrides {
  /// By the option's name, "memory-budget".
  std::map<std::string, std::string, std::less<>> values;
  /// The name of the program in messages.
  std::string program = "etc-opt";

  bool has(llvm::StringRef option) const {
    return values.count(std::string_view(option));
  }
};

/// Makes a side of what an inventory says that devices or roles hold.
void sideOfInventory(Inventory inventory, const Field &field, SideSpec &side);
/// The same of a file.
llvm::Error inventoryOfFile(llvm::StringRef path, const Field &field,
                            SideSpec &side);
/// Makes a side of what a plan ends in, on the devices that it placed it on.
llvm::Error planOfFile(llvm::StringRef path, const Field &field,
                       SideSpec &side);
/// Makes a side of a file that is one of these: a plan by its content or its
/// name. Errors of all three are Malformed.
llvm::Error sideOfFile(llvm::StringRef path, const Field &field,
                       SideSpec &side);
/// Whether this is no configuration, but ends like a file of these or is a
/// plan.
bool namesSideFile(llvm::StringRef text);

/// Parses the shorthand of a configuration, as Parallelism::str() writes it:
/// dimensions in any order and letter case, each at most once, then what is not
/// a size. All errors are Malformed.
llvm::Expected<Parallelism> parseParallelism(llvm::StringRef text,
                                             const Field &field);

/// Parses a cluster: `6x4` (nodes x devices a node) or `4,4,8`. All errors are
/// Malformed.
llvm::Expected<std::vector<int64_t>> parseCluster(llvm::StringRef text,
                                                  const Field &field);

/// Parses a memory budget: bytes, or a ratio of at least 1x with at most six
/// decimals. All errors are Malformed.
llvm::Expected<MemoryBudget> parseMemoryBudget(llvm::StringRef text,
                                               const Field &field);

/// Parses a request in JSON; `fileName` is what messages call it. Fields may be
/// absent, since options may give them. All errors are Malformed.
llvm::Expected<Request> parseRequest(llvm::StringRef text,
                                     llvm::StringRef fileName);

/// Lets options override the fields of a request. A model preset replaces the
/// whole model, and a side its devices too; a size changes that size alone. All
/// errors are Malformed.
llvm::Error applyOverrides(Request &request, const Overrides &overrides);

/// A request from options alone. All errors are Malformed.
llvm::Expected<Request> requestFromOptions(const Overrides &overrides);

/// Whether the request is complete (else Malformed) and can be met (else
/// Unsatisfiable): sizes divide, the worlds fit the cluster, and devices exist,
/// are distinct and, for curr, usable.
llvm::Error checkRequest(const Request &request);

} // namespace etc::request

#endif // ETC_REQUEST_REQUEST_H
