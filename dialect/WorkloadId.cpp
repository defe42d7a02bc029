//===- WorkloadId.cpp - The syntax of workload ids ------------------------===//
//
//   id     ::= part [ '.' '*' | '.' slice [ '..' slice ] ] [ '/' tensor ] [ '['
//   begin ':' end ']' ] part   ::= 'L' layer [ '..' layer ] | 'embed' | 'final'
//   | 'head'
//
// The lexer reads everything up to the star, slash or bracket as one bare
// identifier.
//
//===----------------------------------------------------------------------===//

#include "dialect/Etc.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace etc;
using namespace mlir;

std::string etc::sliceName(int64_t slice) {
  std::string name;
  for (int64_t rest = slice + 1; rest > 0; rest = (rest - 1) / 26)
    name.insert(name.begin(), static_cast<char>('a' + (rest - 1) % 26));
  return name;
}

std::optional<int64_t> etc::sliceNumber(StringRef name) {
  int64_t number = 0;
  for (char letter : name) {
    if (letter < 'a' || letter > 'z' || number > (1 << 20))
      return std::nullopt;
    number = number * 26 + (letter - 'a' + 1);
  }
  return name.empty() ? std::nullopt : std::optional(number - 1);
}

namespace {
/// What the bare identifier at the front of an id says.
struct Head {
  Part part = Part::Embed;
  int64_t first = 0, last = 0;
  int64_t sliceBegin = 0, sliceEnd = 0;
  bool replicated = false;
};
} // namespace

static bool takeLayers(StringRef &text, Head &head) {
  StringRef rest = text;
  unsigned long long first, last;
  if (!rest.consume_front("L") || rest.consumeInteger(10, first))
    return false;
  last = first;
  StringRef range = rest;
  if (range.consume_front("..") && !range.consumeInteger(10, last))
    rest = range;
  head.part = Part::Layer;
  head.first = first;
  head.last = last;
  text = rest;
  return true;
}

static bool takePart(StringRef &text, Head &head) {
  for (Part part : {Part::Embed, Part::Final, Part::Head, Part::Mtp})
    if (text.consume_front(stringifyPart(part))) {
      head.part = part;
      return true;
    }
  return takeLayers(text, head);
}

/// Slices, after the dot.
static bool takeSlices(StringRef text, Head &head) {
  auto [first, last] = text.split("..");
  std::optional<int64_t> begin = sliceNumber(first);
  std::optional<int64_t> end = last.empty() ? begin : sliceNumber(last);
  if (!begin || !end || *end < *begin)
    return false;
  head.sliceBegin = *begin;
  head.sliceEnd = *end + 1;
  return true;
}

static ParseResult parseHead(AsmParser &parser, Head &head) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef text;
  auto error = [&] {
    return parser.emitError(
        loc, "expected a workload id like L0..3.a, embed, final.* or head");
  };
  if (parser.parseOptionalKeyword(&text) || !takePart(text, head))
    return error();
  if (text.empty())
    return success();
  if (!text.consume_front("."))
    return error();
  if (text.empty()) {
    head.replicated = true;
    return parser.parseStar();
  }
  return takeSlices(text, head) ? success() : ParseResult(error());
}

FailureOr<WorkloadAttr> WorkloadAttr::parseId(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  Head head;
  std::string tensor;
  int64_t begin = 0, end = 0;
  if (parseHead(parser, head))
    return failure();
  if (succeeded(parser.parseOptionalSlash()) &&
      parser.parseKeywordOrString(&tensor))
    return failure();
  bool bracket = succeeded(parser.parseOptionalLSquare());
  if (bracket && (parser.parseInteger(begin) || parser.parseColon() ||
                  parser.parseInteger(end) || parser.parseRSquare()))
    return failure();
  if (bracket && begin == end)
    return parser.emitError(loc, "expected ascending positions, got [")
           << begin << ":" << end << "]";
  StringAttr name =
      tensor.empty() ? StringAttr() : parser.getBuilder().getStringAttr(tensor);
  auto attr = parser.getChecked<WorkloadAttr>(
      loc, parser.getContext(), head.part, head.first, head.last,
      head.replicated, head.sliceBegin, head.sliceEnd, name, begin, end);
  if (!attr)
    return failure();
  return attr;
}

void WorkloadAttr::printId(AsmPrinter &printer) const {
  if (getPart() == Part::Layer) {
    printer << "L" << getFirstLayer();
    if (getLastLayer() != getFirstLayer())
      printer << ".." << getLastLayer();
  } else {
    printer << stringifyPart(getPart());
  }
  if (getReplicated())
    printer << ".*";
  if (hasSlices()) {
    printer << "." << sliceName(getSliceBegin());
    if (getSliceEnd() - getSliceBegin() > 1)
      printer << ".." << sliceName(getSliceEnd() - 1);
  }
  if (getTensor()) {
    printer << "/";
    printer.printKeywordOrString(getTensor().getValue());
  }
  if (hasPositions())
    printer << "[" << getBegin() << ":" << getEnd() << "]";
}

Attribute WorkloadAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<WorkloadAttr> id = parseId(parser);
  if (failed(id) || parser.parseGreater())
    return {};
  return *id;
}

void WorkloadAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printId(printer);
  printer << ">";
}

LogicalResult WorkloadAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   Part part, int64_t firstLayer,
                                   int64_t lastLayer, bool replicated,
                                   int64_t sliceBegin, int64_t sliceEnd,
                                   StringAttr tensor, int64_t begin,
                                   int64_t end) {
  if (firstLayer < 0 || lastLayer < firstLayer)
    return emitError() << "expected ascending layers, got " << firstLayer
                       << ".." << lastLayer;
  if (part != Part::Layer && lastLayer != 0)
    return emitError() << "only layers are numbered";
  if (sliceBegin < 0 || sliceEnd < sliceBegin)
    return emitError() << "expected ascending slices, got "
                       << sliceName(sliceBegin) << ".."
                       << sliceName(sliceEnd - 1);
  if (replicated && sliceBegin != sliceEnd)
    return emitError()
           << "an id selects slices or what is not sliced, not both";
  if (begin < 0 || end < begin || (begin == end && begin != 0))
    return emitError() << "expected ascending positions, got [" << begin << ":"
                       << end << "]";
  if (begin != end && !tensor)
    return emitError() << "positions need a tensor";
  if (begin != end && (replicated || sliceBegin != sliceEnd))
    return emitError() << "positions are the tensor's own and exclude slices";
  return success();
}
