//===- EtcOps.cpp - Syntax of the ops -------------------------------------===//

#include "dialect/Workloads.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include <numeric>

using namespace etc;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Custom directives
//===----------------------------------------------------------------------===//

/// `#etc.parallel<PP4>` without the angle brackets.
static ParseResult parseParallel(OpAsmParser &parser, ParallelAttr &attr) {
  FailureOr<ParallelAttr> parsed = ParallelAttr::parseBody(parser);
  if (succeeded(parsed))
    attr = *parsed;
  return success(succeeded(parsed));
}

static void printParallel(OpAsmPrinter &printer, Operation *,
                          ParallelAttr attr) {
  attr.printBody(printer);
}

/// The keyword alone: ODS writes no code for an enum that has a default.
static ParseResult parseStage(OpAsmParser &parser, StageAttr &attr) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef text;
  if (parser.parseKeyword(&text))
    return failure();
  std::optional<Stage> stage = symbolizeStage(text);
  if (!stage)
    return parser.emitError(loc, "expected a stage, got '") << text << "'";
  attr = StageAttr::get(parser.getContext(), *stage);
  return success();
}

static void printStage(OpAsmPrinter &printer, Operation *, StageAttr attr) {
  printer << stringifyStage(attr.getValue());
}

static ParseResult parseOptionalRole(OpAsmParser &parser, RoleAttr &attr) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef text;
  if (parser.parseKeyword(&text))
    return failure();
  if (text == "none")
    return success();
  std::optional<RoleAttr> role =
      RoleAttr::fromKeyword(parser.getContext(), text);
  if (!role)
    return parser.emitError(loc, "expected a role like P0T1, got '")
           << text << "'";
  attr = *role;
  return success();
}

static void printOptionalRole(OpAsmPrinter &printer, Operation *,
                              RoleAttr attr) {
  printer << (attr ? attr.str() : "none");
}

static ParseResult parseRole(OpAsmParser &parser, RoleAttr &attr) {
  SMLoc loc = parser.getCurrentLocation();
  if (parseOptionalRole(parser, attr))
    return failure();
  return attr ? success()
              : ParseResult(parser.emitError(loc, "expected a role like P0T1"));
}

static void printRole(OpAsmPrinter &printer, Operation *op, RoleAttr attr) {
  printOptionalRole(printer, op, attr);
}
static ParseResult parseRoles(OpAsmParser &parser, ArrayAttr &attr) {
  SmallVector<Attribute> roles;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        RoleAttr role;
        if (parseRole(parser, role))
          return failure();
        roles.push_back(role);
        return success();
      }))
    return failure();
  attr = parser.getBuilder().getArrayAttr(roles);
  return success();
}
static void printRoles(OpAsmPrinter &printer, Operation *op, ArrayAttr attr) {
  printer << '[';
  llvm::interleaveComma(attr.getAsRange<RoleAttr>(), printer,
                        [&](RoleAttr role) { printRole(printer, op, role); });
  printer << ']';
}

/// `[0:3, 5:8]`: half-open ranges, flat.
static ParseResult parseRanges(OpAsmParser &parser, DenseI64ArrayAttr &attr) {
  SmallVector<int64_t> bounds;
  auto parseOne = [&]() -> ParseResult {
    return failure(parser.parseInteger(bounds.emplace_back()) ||
                   parser.parseColon() ||
                   parser.parseInteger(bounds.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  attr = parser.getBuilder().getDenseI64ArrayAttr(bounds);
  return success();
}

static void printRanges(OpAsmPrinter &printer, Operation *,
                        DenseI64ArrayAttr attr) {
  printer << "[";
  for (int64_t i = 0; i < attr.size(); i += 2)
    printer << (i ? ", " : "") << attr[i] << ":" << attr[i + 1];
  printer << "]";
}

static ParseResult parseWorkloads(OpAsmParser &parser, ArrayAttr &attr) {
  SmallVector<Attribute> ids;
  auto parseOne = [&]() -> ParseResult {
    FailureOr<WorkloadAttr> id = WorkloadAttr::parseId(parser);
    if (failed(id))
      return failure();
    ids.push_back(*id);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  attr = parser.getBuilder().getArrayAttr(ids);
  return success();
}

static void printWorkloads(OpAsmPrinter &printer, Operation *, ArrayAttr attr) {
  printer << "[";
  llvm::interleaveComma(attr.getAsRange<WorkloadAttr>(), printer,
                        [&](WorkloadAttr id) { id.printId(printer); });
  printer << "]";
}

/// `[0, 1], [1, 2]`: a list for each hop.
static ParseResult parseRoundLists(OpAsmParser &parser, ArrayAttr &attr) {
  SmallVector<Attribute> lists;
  if (parser.parseCommaSeparatedList([&]() -> ParseResult {
        SmallVector<int64_t> rounds;
        if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
              return parser.parseInteger(rounds.emplace_back());
            }))
          return failure();
        lists.push_back(parser.getBuilder().getDenseI64ArrayAttr(rounds));
        return success();
      }))
    return failure();
  attr = parser.getBuilder().getArrayAttr(lists);
  return success();
}

static void printRoundLists(OpAsmPrinter &printer, Operation *,
                            ArrayAttr attr) {
  llvm::interleaveComma(attr.getAsRange<DenseI64ArrayAttr>(), printer,
                        [&](DenseI64ArrayAttr rounds) {
                          printer << "[";
                          llvm::interleaveComma(rounds.asArrayRef(), printer);
                          printer << "]";
                        });
}

static ParseResult parseTypes(OpAsmParser &parser, ArrayAttr &attr) {
  SmallVector<StringRef> names;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseKeyword(&names.emplace_back());
      }))
    return failure();
  attr = parser.getBuilder().getStrArrayAttr(names);
  return success();
}

static ParseResult parseOptionalTypes(OpAsmParser &parser, ArrayAttr &attr) {
  if (failed(parser.parseOptionalLSquare()))
    return success();
  SmallVector<StringRef> names;
  if (parser.parseCommaSeparatedList(
          [&] { return parser.parseKeyword(&names.emplace_back()); }) ||
      parser.parseRSquare())
    return failure();
  attr = parser.getBuilder().getStrArrayAttr(names);
  return success();
}

static void printTypes(OpAsmPrinter &printer, Operation *, ArrayAttr attr) {
  printer << "[";
  llvm::interleaveComma(attr.getAsValueRange<StringAttr>(), printer);
  printer << "]";
}

static void printOptionalTypes(OpAsmPrinter &printer, Operation *op,
                               ArrayAttr attr) {
  if (attr)
    printTypes(printer, op, attr);
}

static ParseResult parseStates(OpAsmParser &parser, ArrayAttr &attr) {
  SmallVector<Attribute> states;
  auto parseOne = [&]() -> ParseResult {
    StringRef name, source;
    Type dtype;
    if (parser.parseKeyword(&name) || parser.parseColonType(dtype))
      return failure();
    if (succeeded(parser.parseOptionalKeyword("from")) &&
        parser.parseKeyword(&source))
      return failure();
    Builder &builder = parser.getBuilder();
    states.push_back(StateAttr::get(
        parser.getContext(), builder.getStringAttr(name), dtype,
        source.empty() ? StringAttr() : builder.getStringAttr(source)));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  attr = parser.getBuilder().getArrayAttr(states);
  return success();
}

static void printStates(OpAsmPrinter &printer, Operation *, ArrayAttr attr) {
  printer << "[";
  llvm::interleaveComma(
      attr.getAsRange<StateAttr>(), printer, [&](StateAttr state) {
        printer << state.getName().getValue() << " : " << state.getDtype();
        if (state.getDerivedFrom())
          printer << " from " << state.getDerivedFrom().getValue();
      });
  printer << "]";
}

static ParseResult parseBoundRegion(OpAsmParser &parser, ArrayAttr &bindings,
                                    Region &body) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Attribute> lists;
  Builder &builder = parser.getBuilder();
  auto parseBinding = [&]() -> ParseResult {
    OpAsmParser::Argument argument;
    SmallVector<int64_t> devices;
    auto parseDevice = [&] {
      return parser.parseInteger(devices.emplace_back());
    };
    if (parser.parseArgument(argument) || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                       parseDevice))
      return failure();
    argument.type = builder.getType<DeviceType>();
    arguments.push_back(argument);
    lists.push_back(builder.getDenseI64ArrayAttr(devices));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren,
                                     parseBinding) ||
      parser.parseRegion(body, arguments))
    return failure();
  bindings = builder.getArrayAttr(lists);
  if (body.empty()) {
    mlir::Block &block = body.emplaceBlock();
    for (OpAsmParser::Argument &argument : arguments)
      block.addArgument(argument.type, builder.getUnknownLoc());
  }
  return success();
}

static void printBoundRegion(OpAsmPrinter &printer, Operation *,
                             ArrayAttr bindings, Region &body) {
  printer << "(";
  auto lists = bindings.getAsRange<DenseI64ArrayAttr>();
  llvm::interleaveComma(
      llvm::zip(body.getArguments(), lists), printer, [&](auto pair) {
        printer.printRegionArgument(std::get<0>(pair), {}, /*omitType=*/true);
        printer << " = [";
        llvm::interleaveComma(std::get<1>(pair).asArrayRef(), printer);
        printer << "]";
      });
  printer << ") ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

void ProgramOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, argument.getArgNumber() == 0
                          ? std::string("self")
                          : "p" + std::to_string(argument.getArgNumber()));
}

#define GET_OP_CLASSES
#include "dialect/EtcOps.cpp.inc"
