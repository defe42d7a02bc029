//===- Options.cpp - The command line of etc-opt --------------------------===//

#include "Options.h"

#include "llvm/Support/CommandLine.h"

using namespace etc;
namespace cl = llvm::cl;

const char *const etc::helpOverview =
    "plans the migration of a training job's state\n"
    "\n"
    "  etc-opt --model=gpt2 --prev=PP2TP2 --curr=PP4TP1DP2 --cluster=2x4 "
    "--emit=plan -o m.etcplan\n"
    "  etc-opt request.json --emit=json -o plan.json\n"
    "  etc-opt request.json --emit=report -o report.html   a page to look at\n"
    "  etc-opt request.json --mlir-print-ir-after-all      the stages of the "
    "plan, one by one\n"
    "  etc-opt m.etcplan --emit=json -o plan.json          of a plan file, "
    "once it is checked again\n"
    "  etc-opt file.mlir --pass-pipeline='builtin.module(etc-plan)'\n"
    "\n"
    "A configuration is PP4TP2DP3; what is absent is 1. A cluster is nodes x "
    "devices a node (6x4), or the devices of\n"
    "each node (4,4,8). Further dimensions are CP, EP, ETP and VPP; "
    "PP2DP4+zero1+stages=5:4+order=pp-dp has the\n"
    "distributed optimizer, 5 and 4 layers, and pipeline ranks before "
    "data-parallel ones. Without --emit the plan is\n"
    "printed as IR. A summary goes to stderr. Given a plan file, etc-opt "
    "checks "
    "it and prints its summary, or what --emit\n"
    "says. Given an .mlir file, it is an ordinary MLIR opt tool; --help-hidden "
    "lists its options.\n"
    "\n"
    "Exit status: 0 done, 1 the request can't be met, 2 usage or malformed "
    "input.\n";

namespace {
struct Options {
  cl::OptionCategory category{"Planning options"};

  cl::opt<std::string> input{
      cl::Positional, cl::desc("[request.json | plan.etcplan | file.mlir]"),
      cl::init(""), cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("Output file (default: stdout)"),
                              cl::value_desc("file"), cl::init("-"),
                              cl::cat(category)};
  cl::opt<Emit> emit{
      "emit", cl::desc("What to write:"), cl::init(Emit::Mlir),
      cl::cat(category),
      cl::values(
          clEnumValN(Emit::Mlir, "mlir", "the plan as IR (default)"),
          clEnumValN(Emit::Plan, "plan", "the plan file that etc-run executes"),
          clEnumValN(Emit::Json, "json", "the plan as JSON, device by device"),
          clEnumValN(Emit::Summary, "summary",
                     "what the plan moves, keeps and needs"),
          clEnumValN(Emit::Ranks, "ranks",
                     "the rank that every device takes: JSON, or the files of "
                     "launchers where -o names a directory"),
          clEnumValN(Emit::Report, "report",
                     "one HTML page with pictures of the plan, to be read "
                     "without a network"))};
  cl::list<std::string> hosts{
      "hosts", cl::CommaSeparated, cl::cat(category), cl::value_desc("names"),
      cl::desc("With --emit=ranks: the name of every node (default: node0, "
               "node1, ...)")};
  cl::opt<bool> frontier{
      "frontier", cl::cat(category),
      cl::desc("Instead of a plan, a table of what each placement and "
               "objective moves, splits and frees")};
  cl::opt<int64_t> whichNodes{
      "which-nodes", cl::cat(category), cl::value_desc("count"),
      cl::desc("Instead of a plan, JSON of the nodes that are cheapest to give "
               "back")};
  cl::opt<std::string> rates =
      text("rates", "GB/s,GB/s",
           "Of a device between nodes and inside one, for the times of "
           "--emit=report, --frontier and --which-nodes (default: 50,450)");
  cl::opt<bool> quiet{"quiet", cl::desc("No summary on stderr"),
                      cl::cat(category)};
  cl::opt<bool> trustBytecode{
      "trust-bytecode", cl::Hidden, cl::cat(category),
      cl::desc("Read MLIR bytecode too, of your own making only: MLIR does not "
               "bound what damaged bytecode takes")};
  cl::list<int64_t> devices{
      "devices", cl::CommaSeparated, cl::cat(category), cl::value_desc("list"),
      cl::desc("JSON of these devices only; needed above 1024 devices")};

  cl::opt<std::string> model = text(
      "model", "preset|config.json",
      "gpt2, llama3-8b, ... (an unknown one lists all), or a file of Hugging "
      "Face");
  cl::opt<std::string> megatronArgs =
      text("megatron-args", "args",
           "Arguments of a Megatron training script: the model and --prev");
  cl::opt<std::string> prev =
      text("prev", "PP4TP2",
           "Configuration before; or the plan (.etcplan) that led to it, or an "
           "inventory (.json)");
  cl::opt<std::string> curr = text("curr", "PP6TP4", "Configuration after");
  cl::opt<std::string> cluster =
      text("cluster", "6x4", "Nodes x devices a node, or 4,4,8");
  cl::opt<std::string> types =
      text("types", "list",
           "State types: param,master,exp_avg,exp_avg_sq (default: all)");
  cl::opt<std::string> optimizer =
      text("optimizer", "name",
           "What states there are: adam, adam-bf16, muon, adafactor, sgd, lion "
           "(default: adam)");
  cl::opt<std::string> precision =
      text("precision", "name",
           "Of parameters: bf16, fp16, fp32, fp8, mxfp8 (default: bf16)");
  cl::opt<std::string> derive =
      text("derive", "param|none",
           "What is cast where its source lands, not moved (default: param)");
  cl::opt<std::string> failed = text("failed", "list", "Devices that are dead");
  cl::opt<std::string> leaving =
      text("leaving", "list", "Devices that may send but take no role");
  cl::opt<std::string> budget =
      text("memory-budget", "bytes|1.05x",
           "Live bytes a device, staging included (default: 1.05x max(prev, "
           "curr), or the least found)");
  cl::opt<std::string> policy =
      text("policy", "best|paper",
           "Planning policy: the least bytes, or what the paper does");
  cl::opt<bool> twoStage{
      "two-stage", cl::cat(category),
      cl::desc(
          "Under --policy=paper: de-fragment in a second plan (-o m.etcplan "
          "writes m.1.etcplan and m.2.etcplan)")};
  cl::opt<CostUnit> paperCosts{
      "paper-costs", cl::desc("Under --policy=paper, the matrix to solve:"),
      cl::init(CostUnit::Merged), cl::cat(category),
      cl::values(clEnumValN(CostUnit::Merged, "merged",
                            "as the paper merges (default)"),
                 clEnumValN(CostUnit::Units, "units",
                            "exact units, layers x slices"))};
  cl::opt<std::string> objective =
      text("objective", "internode|total|time",
           "What comes first: the bytes between nodes (default), all bytes, or "
           "the bytes between nodes on routes that take least time");
  cl::opt<std::string> place =
      text("place", "any|tp|pack",
           "Roles on any device; tensor-parallel groups inside nodes; that on "
           "the fewest nodes (default)");
  cl::opt<std::string> layers =
      text("layers", "n", "Override the model's layers");
  cl::opt<std::string> hidden = text("hidden", "n", "Override the hidden size");
  cl::opt<std::string> heads =
      text("heads", "n", "Override the attention heads");
  cl::opt<std::string> ffn = text("ffn", "n", "Override the MLP's inner size");
  cl::opt<std::string> vocab =
      text("vocab", "n", "Override the vocabulary, unpadded");
  cl::opt<std::string> seq = text("seq", "n", "Override the learned positions");
  cl::opt<std::string> tied = text(
      "tied", "true|false", "Whether output and input embeddings are tied");

private:
  cl::opt<std::string> text(llvm::StringRef name, llvm::StringRef value,
                            llvm::StringRef help) {
    return cl::opt<std::string>(name, cl::value_desc(value), cl::desc(help),
                                cl::cat(category));
  }
};
} // namespace

static Options &options() {
  static Options instance;
  return instance;
}

void etc::registerPlannerOptions() { (void)options(); }

void etc::hideForeignOptions() {
  for (auto &entry : cl::getRegisteredOptions())
    if (!llvm::is_contained(entry.second->Categories, &options().category) &&
        entry.first != "help" && entry.first != "help-hidden" &&
        entry.first != "version" && entry.first != "mlir-print-ir-after-all")
      entry.second->setHiddenFlag(cl::Hidden);
}

static std::optional<std::string> given(const cl::opt<std::string> &option) {
  return option.getNumOccurrences()
             ? std::optional<std::string>(option.getValue())
             : std::nullopt;
}

std::optional<llvm::StringRef> etc::findRepeatedOption() {
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (llvm::is_contained(option->Categories, &options().category) &&
        option->getNumOccurrencesFlag() == cl::Optional &&
        option->getNumOccurrences() > 1)
      return name;
  return std::nullopt;
}

PlannerOptions etc::readPlannerOptions() {
  Options &o = options();
  PlannerOptions result;
  result.input = o.input;
  result.output = o.output;
  result.emit = o.emit;
  if (result.isPlan() && !o.emit.getNumOccurrences())
    result.emit = Emit::Summary;
  result.quiet = o.quiet;
  result.trustBytecode = o.trustBytecode;
  result.twoStage = o.twoStage;
  if (o.paperCosts.getNumOccurrences())
    result.paperCosts = o.paperCosts;
  result.frontier = o.frontier;
  if (o.whichNodes.getNumOccurrences())
    result.whichNodes = o.whichNodes;
  result.rates = given(o.rates);
  if (o.hosts.getNumOccurrences())
    result.hosts = std::vector<std::string>(o.hosts.begin(), o.hosts.end());
  if (o.devices.getNumOccurrences())
    result.devices = std::vector<int64_t>(o.devices.begin(), o.devices.end());
  config::ShorthandOptions &s = result.shorthand;
  s.model = given(o.model);
  s.megatronArgs = given(o.megatronArgs);
  s.prev = given(o.prev);
  s.curr = given(o.curr);
  s.cluster = given(o.cluster);
  s.types = given(o.types);
  s.optimizer = given(o.optimizer);
  s.precision = given(o.precision);
  s.derive = given(o.derive);
  s.failed = given(o.failed);
  s.leaving = given(o.leaving);
  s.memoryBudget = given(o.budget);
  s.policy = given(o.policy);
  s.place = given(o.place);
  s.objective = given(o.objective);
  s.layers = given(o.layers);
  s.hidden = given(o.hidden);
  s.heads = given(o.heads);
  s.ffn = given(o.ffn);
  s.vocab = given(o.vocab);
  s.seq = given(o.seq);
  s.tied = given(o.tied);
  return result;
}

bool PlannerOptions::isRequest() const {
  return llvm::StringRef(input).ends_with(".json") || emit != Emit::Mlir ||
         devices || rates || hosts || describesRequest();
}

bool PlannerOptions::describesRequest() const {
  const config::ShorthandOptions &s = shorthand;
  const std::optional<std::string> *fields[] = {
      &s.model,     &s.prev,      &s.curr,   &s.cluster,      &s.types,
      &s.failed,    &s.leaving,   &s.tied,   &s.memoryBudget, &s.policy,
      &s.optimizer, &s.precision, &s.place,  &s.derive,       &s.megatronArgs,
      &s.ffn,       &s.layers,    &s.hidden, &s.heads,        &s.vocab,
      &s.seq,       &s.objective};
  return twoStage || paperCosts || frontier || whichNodes ||
         llvm::any_of(fields, [](auto *field) { return field->has_value(); });
}

bool PlannerOptions::isModule() const {
  llvm::StringRef name(input);
  return name.ends_with(".mlir") || name.ends_with(".mlirbc");
}

bool PlannerOptions::isPlan() const {
  return llvm::StringRef(input).ends_with(".etcplan");
}
