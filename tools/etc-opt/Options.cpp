//===- Options.cpp - The command line of etc-opt --------------------------===//

#include "Options.h"

#include "core/plan/IsPlanFile.h"
#include "etc/Request/Fields.h"

#include "llvm/Support/CommandLine.h"

#include <deque>

using namespace etc;
namespace cl = llvm::cl;

const char *const etc::helpOverview =
    "plans the migration of a training job's state\n"
    "\n"
    "  etc-opt --model=gpt2 --prev=PP2TP2 --curr=PP4TP1DP2 --cluster=2x4 "
    "--emit=plan -o m.etcplan\n"
    "  etc-opt request.json --emit=json -o plan.json\n"
    "  etc-opt request.json next.json --emit=plan -o m.etcplan   requests that "
    "follow each other, as one plan\n"
    "  etc-opt request.json --emit=report -o report.html   a page to look at\n"
    "  etc-opt request.json --mlir-print-ir-after-all      the stages of the "
    "plan, one by one\n"
    "  etc-opt m.etcplan --emit=json -o plan.json          of a plan file, "
    "once it is checked again\n"
    "  etc-opt file.mlir --pass-pipeline='builtin.module(etc-plan)'\n"
    "\n"
    "A configuration is PP4TP2DP3; further dimensions are CP, EP, ETP and VPP. "
    "What is absent is 1, except that ETP is\n"
    "then TP. PP2DP4+zero1+stages=5:4+order=pp-dp has the distributed "
    "optimizer, 5 and 4 layers, and pipeline ranks\n"
    "before data-parallel ones. PyTorch's layouts are FSDP8, HSDP2x4 and "
    "TP2FSDP4. A cluster is nodes x devices a node\n"
    "(6x4), or the devices of each node (4,4,8). Without --emit the plan is "
    "printed as IR. A summary goes to stderr.\n"
    "Given a plan file, etc-opt checks it and prints its summary, or what "
    "--emit says. Given an .mlir file, it is an\n"
    "ordinary MLIR opt tool; --help-hidden lists its options.\n"
    "\n"
    "Exit status: 0 done, 1 the request can't be met, 2 usage or malformed "
    "input.\n";

namespace {
struct DeviceRangeParser : cl::parser<request::DeviceRange> {
  using parser::parser;

  bool parse(cl::Option &option, llvm::StringRef, llvm::StringRef text,
             request::DeviceRange &range) {
    std::optional<request::DeviceRange> parsed =
        request::parseDeviceRange(text);
    if (!parsed)
      return option.error(request::expectedDeviceRange(text));
    range = *parsed;
    return false;
  }
};

/// An option for a field of a request; the texts are what it points to.
struct FieldOption {
  const std::string name, value, help;
  cl::opt<std::string> option;
  std::optional<cl::alias> older;

  FieldOption(const request::RequestField &field, cl::OptionCategory &category)
      : name(field.option()), value(field.valueHint()), help(helpOf(field)),
        option(llvm::StringRef(name), cl::value_desc(value), cl::desc(help),
               cl::cat(category)) {
    if (!field.olderName.empty())
      older.emplace(field.olderName, cl::aliasopt(option), cl::Hidden,
                    cl::desc("An older spelling"));
  }

private:
  static std::string helpOf(const request::RequestField &field) {
    std::string text = field.help.str();
    if (!field.without().empty())
      text += " (default: " + field.without().str() + ")";
    return text;
  }
};

struct Options {
  cl::OptionCategory category{"Planning options"};

  cl::list<std::string> inputs{
      cl::Positional, cl::desc("[request.json... | plan.etcplan | file.mlir]"),
      cl::cat(category)};
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
  cl::opt<bool> frontier{
      "frontier", cl::cat(category),
      cl::desc("Instead of a plan, a table of what each placement and "
               "objective takes, moves, splits and frees")};
  cl::opt<int64_t> whichNodes{
      "which-nodes", cl::cat(category), cl::value_desc("count"),
      cl::desc("Instead of a plan, JSON of the nodes that are cheapest to give "
               "back")};
  cl::opt<std::string> rates =
      text("rates", "GB/s,GB/s",
           "Of a device between nodes and inside one, for the times of "
           "--emit=report, --frontier and --which-nodes (default: those of the "
           "request's cluster)");
  cl::opt<bool> quiet{"quiet", cl::desc("No summary on stderr"),
                      cl::cat(category)};
  cl::opt<bool> trustBytecode{
      "trust-bytecode", cl::Hidden, cl::cat(category),
      cl::desc("Read MLIR bytecode too, of your own making only: MLIR does not "
               "bound what damaged bytecode takes")};
  cl::list<request::DeviceRange, bool, DeviceRangeParser> devices{
      "devices", cl::CommaSeparated, cl::cat(category),
      cl::value_desc("0-7,12"),
      cl::desc("JSON of these devices only; needed above 1024 devices")};

  cl::opt<bool> twoStage{
      "two-stage", cl::cat(category),
      cl::desc(
          "Under --policy=paper: de-fragment in a second plan (-o m.etcplan "
          "writes m.1.etcplan and m.2.etcplan)")};
  cl::opt<bool> coalesce{
      "coalesce", cl::init(true), cl::cat(category),
      cl::desc("Make one plan of several requests that follow each other "
               "(default); with =false one of each, as of --two-stage")};
  cl::opt<std::string> journal{
      "journal", cl::cat(category), cl::value_desc("dir"),
      cl::desc("The journal of the first of several requests: refuse to plan "
               "if that migration has begun")};
  cl::opt<std::string> slice =
      text("slice", "rank|all",
           "With --emit=plan: the part of the plan that one rank runs, or of "
           "every rank (-o m.etcplan writes m.0.etcplan, m.1.etcplan, ...)");
  cl::opt<bool> explain{"explain", cl::cat(category),
                        cl::desc("Say what the lines of a summary mean")};
  cl::opt<int64_t> lanesFrom{
      "lanes-from", cl::Hidden, cl::cat(category), cl::value_desc("devices"),
      cl::desc("From how many devices on plans are made for one lane of "
               "tensor-parallel ranks, where all do the same")};
  cl::opt<bool> requestFields{
      "request-fields", cl::Hidden, cl::cat(category),
      cl::desc("Print the table of a request's fields, as JSON")};
  /// One for each field of a request.
  std::deque<FieldOption> fields = fieldOptions();

private:
  cl::opt<std::string> text(llvm::StringRef name, llvm::StringRef value,
                            llvm::StringRef help) {
    return cl::opt<std::string>(name, cl::value_desc(value), cl::desc(help),
                                cl::cat(category));
  }

  std::deque<FieldOption> fieldOptions();
};
} // namespace

std::deque<FieldOption> Options::fieldOptions() {
  std::deque<FieldOption> made;
  for (const request::RequestField &field : request::requestFields())
    made.emplace_back(field, category);
  return made;
}

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
  if (!o.inputs.empty()) {
    result.input = o.inputs.front();
    result.following.assign(o.inputs.begin() + 1, o.inputs.end());
  }
  result.output = o.output;
  result.emit = o.emit;
  if (result.isPlan() && !o.emit.getNumOccurrences())
    result.emit = Emit::Summary;
  result.quiet = o.quiet;
  result.trustBytecode = o.trustBytecode;
  result.twoStage = o.twoStage;
  result.coalesce = o.coalesce;
  if (o.lanesFrom.getNumOccurrences())
    result.lanesFrom = o.lanesFrom;
  result.journal = given(o.journal);
  result.slice = given(o.slice);
  result.frontier = o.frontier;
  if (o.whichNodes.getNumOccurrences())
    result.whichNodes = o.whichNodes;
  result.rates = given(o.rates);
  if (o.devices.getNumOccurrences())
    result.devices.emplace(o.devices.begin(), o.devices.end());
  result.explain = o.explain;
  result.requestFields = o.requestFields;
  for (const FieldOption &field : o.fields)
    if (field.option.getNumOccurrences())
      result.overrides.values[field.name] = field.option;
  return result;
}

bool PlannerOptions::isRequest() const {
  return llvm::StringRef(input).ends_with(".json") || emit != Emit::Mlir ||
         devices || rates || !overrides.values.empty() || describesRequest();
}

bool PlannerOptions::describesRequest() const {
  // The names of nodes are for ranks, and a plan has ranks.
  const bool isPlanned = llvm::any_of(
      overrides.values, [](auto &given) { return given.first != "hosts"; });
  return twoStage || frontier || whichNodes || isPlanned || journal ||
         !following.empty();
}

std::optional<std::vector<int64_t>> PlannerOptions::listDevices() const {
  if (!devices)
    return std::nullopt;
  return request::devicesOf(*devices);
}

bool PlannerOptions::isModule() const {
  llvm::StringRef name(input);
  return name.ends_with(".mlir") || name.ends_with(".mlirbc");
}

bool PlannerOptions::isPlan() const {
  return llvm::StringRef(input).ends_with(".etcplan") ||
         plan::isPlanFile(input);
}
