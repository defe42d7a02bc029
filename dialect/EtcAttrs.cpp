//===- EtcAttrs.cpp - Syntax and invariants of the attributes -------------===//

#include "dialect/Etc.h"
#include "dialect/Limits.h"
#include "dialect/Verifiers.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace etc;
using namespace mlir;

#define GET_ATTRDEF_CLASSES
#include "dialect/EtcAttrs.cpp.inc"

void EtcDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/EtcAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// A keyword of letters that are each followed by a number: PP4TP2, P0T1
//===----------------------------------------------------------------------===//

/// Takes `letters` and a number off the front of `text`.
static std::optional<int64_t> takeDimension(StringRef &text,
                                            StringRef letters) {
  StringRef rest = text;
  int64_t value;
  if (!rest.consume_front(letters) || rest.consumeInteger(10, value))
    return std::nullopt;
  text = rest;
  return value;
}

//===----------------------------------------------------------------------===//
// ParallelAttr
//===----------------------------------------------------------------------===//

int64_t ParallelAttr::getSlots() const {
  return std::lcm(getTp(), getEtp() * getEp());
}

int64_t ParallelAttr::getRoleIndex(RoleAttr role) const {
  int64_t pool = getPoolIndex(role);
  return hasRanges() ? pool * getReplicas() + role.getReplica() : pool;
}

RoleAttr ParallelAttr::getRole(int64_t index) const {
  int64_t replica = -1;
  if (hasRanges()) {
    replica = index % getReplicas();
    index /= getReplicas();
  }
  return RoleAttr::get(getContext(), index / getSlots(), index % getSlots(),
                       replica);
}

bool ParallelAttr::hasRole(RoleAttr role) const {
  return role.getStage() < getPp() && role.getSlot() < getSlots() &&
         role.hasReplica() == hasRanges() && role.getReplica() < getReplicas();
}

int64_t ParallelAttr::getPoolIndex(RoleAttr role) const {
  return role.getStage() * getSlots() + role.getSlot();
}

RoleAttr ParallelAttr::getPool(int64_t index) const {
  return RoleAttr::get(getContext(), index / getSlots(), index % getSlots(),
                       -1);
}

bool ParallelAttr::hasPool(RoleAttr role) const {
  return role.getStage() < getPp() && role.getSlot() < getSlots() &&
         !role.hasReplica();
}

std::string ParallelAttr::str() const {
  if (getInventory())
    return "DP" + std::to_string(getDp()) + " inventory";
  std::string text = "PP" + std::to_string(getPp());
  auto append = [&](const char *name, int64_t degree, int64_t usual) {
    if (degree != usual)
      text += name + std::to_string(degree);
  };
  append("TP", getTp(), 1);
  append("DP", getDp(), 1);
  append("CP", getCp(), 1);
  append("EP", getEp(), 1);
  append("ETP", getEtp(), getTp());
  append("VPP", getVpp(), 1);
  return text;
}

/// The degrees of a keyword like PP4TP2DP3: dimensions in their fixed order,
/// each with a number.
static bool takeDegrees(StringRef text, MutableArrayRef<int64_t> degrees) {
  constexpr StringLiteral names[] = {"PP", "TP",  "DP", "CP",
                                     "EP", "ETP", "VPP"};
  bool isFirst = true;
  for (auto [name, degree] : llvm::zip_equal(names, degrees))
    if (std::optional<int64_t> value = takeDimension(text, name)) {
      degree = *value;
      isFirst = false;
    }
  return text.empty() && !isFirst;
}

/// `stages [5, 4]`, `mtp_stage 2`, `pp_before_dp`, `zero1 buckets 100` and
/// `fsdp 4`, behind the degrees.
static ParseResult parseRefinements(AsmParser &parser,
                                    SmallVectorImpl<int64_t> &stages,
                                    int64_t &mtpStage, bool &ppBeforeDp,
                                    bool &zero1, int64_t &bucketSize,
                                    bool &inventory, int64_t &fsdp) {
  if (succeeded(parser.parseOptionalKeyword("stages")) &&
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(stages.emplace_back());
      }))
    return failure();
  mtpStage = -1;
  if (succeeded(parser.parseOptionalKeyword("mtp_stage")) &&
      parser.parseInteger(mtpStage))
    return failure();
  ppBeforeDp = succeeded(parser.parseOptionalKeyword("pp_before_dp"));
  zero1 = succeeded(parser.parseOptionalKeyword("zero1"));
  bucketSize = 0;
  if (succeeded(parser.parseOptionalKeyword("buckets")) &&
      parser.parseInteger(bucketSize))
    return failure();
  inventory = succeeded(parser.parseOptionalKeyword("inventory"));
  fsdp = 1;
  if (succeeded(parser.parseOptionalKeyword("fsdp")) &&
      parser.parseInteger(fsdp))
    return failure();
  return success();
}

FailureOr<ParallelAttr> ParallelAttr::parseBody(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef text;
  if (parser.parseKeyword(&text))
    return failure();
  int64_t degrees[] = {1, 1, 1, 1, 1, 0, 1};
  if (!takeDegrees(text, degrees))
    return parser.emitError(loc,
                            "expected parallel degrees like PP4TP2DP3, got '")
           << text << "'";
  auto [pp, tp, dp, cp, ep, etp, vpp] = degrees;
  SmallVector<int64_t> stages;
  int64_t mtpStage, bucketSize, fsdp;
  bool ppBeforeDp, zero1, inventory;
  if (parseRefinements(parser, stages, mtpStage, ppBeforeDp, zero1, bucketSize,
                       inventory, fsdp))
    return failure();
  auto attr = parser.getChecked<ParallelAttr>(
      loc, parser.getContext(), pp, tp, dp, cp, ep, etp ? etp : tp, vpp,
      ArrayRef<int64_t>(stages), mtpStage, ppBeforeDp, zero1, bucketSize,
      inventory, fsdp);
  if (!attr)
    return failure();
  return attr;
}

void ParallelAttr::printBody(AsmPrinter &printer) const {
  printer << str();
  if (!getStages().empty()) {
    printer << " stages [";
    llvm::interleaveComma(getStages(), printer.getStream());
    printer << "]";
  }
  if (getMtpStage() >= 0)
    printer << " mtp_stage " << getMtpStage();
  if (getPpBeforeDp())
    printer << " pp_before_dp";
  if (getZero1())
    printer << " zero1";
  if (getBucketSize())
    printer << " buckets " << getBucketSize();
  if (getFsdp() != 1)
    printer << " fsdp " << getFsdp();
}

Attribute ParallelAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<ParallelAttr> attr = parseBody(parser);
  if (failed(attr) || parser.parseGreater())
    return {};
  return *attr;
}

void ParallelAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printBody(printer);
  printer << ">";
}

/// Each degree is sane, and so is the world that they make.
static LogicalResult
verifyDegrees(function_ref<InFlightDiagnostic()> emitError,
              ArrayRef<std::pair<const char *, int64_t>> degrees) {
  constexpr int64_t limit = 1 << 20;
  int64_t world = 1;
  for (auto [name, degree] : degrees) {
    if (degree < 1)
      return emitError() << "parallel degrees must be at least 1, got " << name
                         << degree;
    world *= std::min(degree, limit + 1);
    if (world > limit)
      return emitError() << "a world of more than " << limit
                         << " ranks is not supported";
  }
  return success();
}

LogicalResult ParallelAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t pp, int64_t tp, int64_t dp,
                                   int64_t cp, int64_t ep, int64_t etp,
                                   int64_t vpp, ArrayRef<int64_t> stages,
                                   int64_t mtpStage, bool ppBeforeDp,
                                   bool zero1, int64_t bucketSize,
                                   bool inventory, int64_t fsdp) {
  if (failed(verifyDegrees(emitError,
                           {{"PP", pp}, {"TP", tp}, {"DP", dp}, {"CP", cp}})) ||
      failed(
          verifyDegrees(emitError, {{"EP", ep}, {"ETP", etp}, {"VPP", vpp}})))
    return failure();
  if (inventory && (pp * tp * cp * ep * etp * vpp != 1 || !stages.empty() ||
                    mtpStage != -1 || ppBeforeDp || zero1 || bucketSize))
    return emitError() << "an inventory is of DP ranks alone";
  if (fsdp < 1 || dp % fsdp)
    return emitError() << "fsdp " << fsdp << " does not divide DP = " << dp;
  if (fsdp != 1 && (zero1 || inventory || cp * ep != 1 || etp != tp))
    return emitError() << "fsdp stands beside PP, TP and DP alone";
  if (tp * cp * dp % (ep * etp))
    return emitError() << "EP x ETP = " << ep * etp << " does not divide the "
                       << tp * cp * dp << " ranks of a stage";
  if (ppBeforeDp && pp > 1 && tp * cp % std::lcm(tp, ep * etp))
    return emitError() << "with pp_before_dp, EP x ETP = " << ep * etp
                       << " must divide TP x CP = " << tp * cp;
  if (!stages.empty() && static_cast<int64_t>(stages.size()) != pp * vpp)
    return emitError() << "expected the layers of " << pp * vpp
                       << " chunks, got " << stages.size();
  if (llvm::any_of(stages, [](int64_t layers) { return layers < 0; }))
    return emitError() << "a chunk has less than no layers";
  if (bucketSize < 0 || (bucketSize && !zero1))
    return emitError() << "buckets need zero1 and a positive size, got "
                       << bucketSize;
  if (bucketSize > mostBucketElements)
    return emitError() << "expected buckets of at most " << mostBucketElements
                       << " elements, got " << bucketSize;
  if (mtpStage < -1 || mtpStage >= pp)
    return emitError() << "mtp_stage " << mtpStage << " is not in [0, " << pp
                       << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// RoleAttr
//===----------------------------------------------------------------------===//

std::string RoleAttr::str() const {
  std::string text =
      "P" + std::to_string(getStage()) + "T" + std::to_string(getSlot());
  return hasReplica() ? text + "D" + std::to_string(getReplica()) : text;
}

std::optional<RoleAttr> RoleAttr::fromKeyword(MLIRContext *context,
                                              StringRef text) {
  std::optional<int64_t> stage = takeDimension(text, "P");
  std::optional<int64_t> slot = takeDimension(text, "T");
  int64_t replica = takeDimension(text, "D").value_or(-1);
  if (!stage || !slot || !text.empty())
    return std::nullopt;
  return RoleAttr::get(context, *stage, *slot, replica);
}

Attribute RoleAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef text;
  if (parser.parseLess() || parser.parseKeyword(&text))
    return {};
  std::optional<RoleAttr> role = fromKeyword(parser.getContext(), text);
  if (!role) {
    parser.emitError(loc, "expected a role like P0T1");
    return {};
  }
  return parser.parseGreater() ? RoleAttr() : *role;
}

void RoleAttr::print(AsmPrinter &printer) const {
  printer << "<" << str() << ">";
}

//===----------------------------------------------------------------------===//
// StateAttr
//===----------------------------------------------------------------------===//

Attribute StateAttr::parse(AsmParser &parser, Type) {
  StringRef name, source;
  Type dtype;
  if (parser.parseLess() || parser.parseKeyword(&name) ||
      parser.parseColonType(dtype))
    return {};
  if (succeeded(parser.parseOptionalKeyword("from")) &&
      parser.parseKeyword(&source))
    return {};
  if (parser.parseGreater())
    return {};
  if (failed(verifyElementType(
          name, dtype, [&] { return parser.emitError(parser.getNameLoc()); })))
    return {};
  Builder &builder = parser.getBuilder();
  return StateAttr::get(parser.getContext(), builder.getStringAttr(name), dtype,
                        source.empty() ? StringAttr()
                                       : builder.getStringAttr(source));
}

void StateAttr::print(AsmPrinter &printer) const {
  printer << "<" << getName().getValue() << " : " << getDtype();
  if (getDerivedFrom())
    printer << " from " << getDerivedFrom().getValue();
  printer << ">";
}

//===----------------------------------------------------------------------===//
// MatrixAttr
//===----------------------------------------------------------------------===//

Attribute MatrixAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t rows = 0, columns = 0;
  SmallVector<int64_t> values;
  auto parseRow = [&]() -> ParseResult {
    size_t before = values.size();
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
          return parser.parseInteger(values.emplace_back());
        }))
      return failure();
    int64_t length = values.size() - before;
    if (rows++ == 0)
      columns = length;
    return length == columns ? success()
                             : ParseResult(parser.emitError(
                                   loc, "expected rows of equal length"));
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(parseRow) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<MatrixAttr>(loc, parser.getContext(), rows, columns,
                                       values);
}

void MatrixAttr::print(AsmPrinter &printer) const {
  printer << "<";
  for (int64_t row = 0; row < getRows(); ++row) {
    printer << (row ? ", [" : "[");
    llvm::interleaveComma(getValues().slice(row * getColumns(), getColumns()),
                          printer.getStream());
    printer << "]";
  }
  printer << ">";
}

LogicalResult MatrixAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t rows, int64_t columns,
                                 ArrayRef<int64_t> values) {
  if (rows * columns != static_cast<int64_t>(values.size()))
    return emitError() << "expected rows of equal length";
  return success();
}
