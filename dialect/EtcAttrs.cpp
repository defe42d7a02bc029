//===- EtcAttrs.cpp - Syntax and invariants of the attributes -------------===//

#include "dialect/Etc.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

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
  unsigned long long value;
  if (!rest.consume_front(letters) || rest.consumeInteger(10, value))
    return std::nullopt;
  text = rest;
  return static_cast<int64_t>(value);
}

//===----------------------------------------------------------------------===//
// ParallelAttr
//===----------------------------------------------------------------------===//

std::string ParallelAttr::str() const {
  std::string text = "PP" + std::to_string(getPp());
  if (getTp() != 1)
    text += "TP" + std::to_string(getTp());
  if (getDp() != 1)
    text += "DP" + std::to_string(getDp());
  return text;
}

Attribute ParallelAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef text;
  if (parser.parseLess() || parser.parseKeyword(&text))
    return {};
  int64_t pp = takeDimension(text, "PP").value_or(1);
  int64_t tp = takeDimension(text, "TP").value_or(1);
  int64_t dp = takeDimension(text, "DP").value_or(1);
  if (!text.empty()) {
    parser.emitError(loc, "expected parallel degrees like PP4TP2DP3, got '")
        << text << "'";
    return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ParallelAttr>(loc, parser.getContext(), pp, tp, dp);
}

void ParallelAttr::print(AsmPrinter &printer) const {
  printer << "<" << str() << ">";
}

LogicalResult ParallelAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t pp, int64_t tp, int64_t dp) {
  if (pp < 1 || tp < 1 || dp < 1)
    return emitError() << "parallel degrees must be at least 1, got PP" << pp
                       << "TP" << tp << "DP" << dp;
  constexpr int64_t limit = 1 << 20;
  if (pp > limit || tp > limit || dp > limit || pp * tp > limit ||
      pp * tp * dp > limit)
    return emitError() << "a world of more than " << limit
                       << " ranks is not supported";
  return success();
}

//===----------------------------------------------------------------------===//
// RoleAttr
//===----------------------------------------------------------------------===//

std::string RoleAttr::str() const {
  return "P" + std::to_string(getStage()) + "T" + std::to_string(getSlice());
}

Attribute RoleAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef text;
  if (parser.parseLess() || parser.parseKeyword(&text))
    return {};
  std::optional<int64_t> stage = takeDimension(text, "P");
  std::optional<int64_t> slice = takeDimension(text, "T");
  if (!stage || !slice || !text.empty()) {
    parser.emitError(loc, "expected a role like P0T1");
    return {};
  }
  if (parser.parseGreater())
    return {};
  return RoleAttr::get(parser.getContext(), *stage, *slice);
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
  if (!dtype.isIntOrFloat() || dtype.getIntOrFloatBitWidth() % 8) {
    parser.emitError(parser.getNameLoc(),
                     "expected a type of whole bytes, got ")
        << dtype;
    return {};
  }
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
