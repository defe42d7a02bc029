//===- WorkloadId.cpp - The syntax of workload ids ------------------------===//
//
//   id   ::= part [ '.' 'e' expert [ '..' expert ] ]
//            [ '.' '*' | '.' slice [ '..' slice ] ] [ '/' tensor ] [ box ]
//   part ::= 'L' layer [ '..' layer ] | 'embed' | 'final' | 'head' | 'mtp'
//   box  ::= '[' range ']' | '[' range ',' range ',' range ']'
//   range ::= begin ':' end
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
  Span experts;
  Span slices;
  bool replicated = false;
};
} // namespace

/// `L0..3` for the letter L: the first and the last.
static std::optional<std::pair<int64_t, int64_t>>
takeNumbers(StringRef &text, StringRef letter) {
  StringRef rest = text;
  unsigned long long first, last;
  if (!rest.consume_front(letter) || rest.consumeInteger(10, first))
    return std::nullopt;
  last = first;
  StringRef range = rest;
  if (range.consume_front("..") && !range.consumeInteger(10, last))
    rest = range;
  text = rest;
  return std::pair<int64_t, int64_t>(first, last);
}

static bool takeLayers(StringRef &text, Head &head) {
  auto layers = takeNumbers(text, "L");
  if (!layers)
    return false;
  head.part = Part::Layer;
  std::tie(head.first, head.last) = *layers;
  return true;
}

/// Experts, after a dot. A slice `e` has no number behind it.
static void takeExperts(StringRef &text, Head &head) {
  StringRef rest = text;
  if (!rest.consume_front("."))
    return;
  auto experts = takeNumbers(rest, "e");
  if (!experts)
    return;
  head.experts = {experts->first, experts->second + 1};
  text = rest;
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
  head.slices = {*begin, *end + 1};
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
  takeExperts(text, head);
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

/// `[8:16]` or `[0:2, 8:16, 0:100]`, if it is there.
static ParseResult parseBox(AsmParser &parser, SmallVectorImpl<int64_t> &box) {
  if (failed(parser.parseOptionalLSquare()))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  auto parseRange = [&]() -> ParseResult {
    int64_t begin, end;
    if (parser.parseInteger(begin) || parser.parseColon() ||
        parser.parseInteger(end))
      return failure();
    box.append({begin, end});
    return success();
  };
  if (parser.parseCommaSeparatedList(parseRange) || parser.parseRSquare())
    return failure();
  if (box.size() != 2 && box.size() != 6)
    return parser.emitError(loc, "expected one range or three, got ")
           << box.size() / 2;
  return success();
}

FailureOr<WorkloadAttr> WorkloadAttr::parseId(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  Head head;
  std::string tensor;
  SmallVector<int64_t> box;
  if (parseHead(parser, head))
    return failure();
  if (succeeded(parser.parseOptionalSlash()) &&
      parser.parseKeywordOrString(&tensor))
    return failure();
  if (parseBox(parser, box))
    return failure();
  StringAttr name =
      tensor.empty() ? StringAttr() : parser.getBuilder().getStringAttr(tensor);
  auto attr = parser.getChecked<WorkloadAttr>(
      loc, parser.getContext(), head.part, head.first, head.last, head.experts,
      head.replicated, head.slices, name, ArrayRef<int64_t>(box));
  if (!attr)
    return failure();
  return attr;
}

/// `first`, or `first..last` where they differ.
static void printNumbers(AsmPrinter &printer, int64_t first, int64_t last) {
  printer << first;
  if (last != first)
    printer << ".." << last;
}

void WorkloadAttr::printId(AsmPrinter &printer) const {
  if (getPart() == Part::Layer) {
    printer << "L";
    printNumbers(printer, getFirstLayer(), getLastLayer());
  } else {
    printer << stringifyPart(getPart());
  }
  if (hasExperts()) {
    printer << ".e";
    printNumbers(printer, getExperts().begin, getExperts().end - 1);
  }
  if (getReplicated())
    printer << ".*";
  if (hasSlices()) {
    printer << "." << sliceName(getSlices().begin);
    if (getSlices().size() > 1)
      printer << ".." << sliceName(getSlices().end - 1);
  }
  if (getTensor()) {
    printer << "/";
    printer.printKeywordOrString(getTensor().getValue());
  }
  if (!hasBox())
    return;
  for (size_t i = 0; i < getBox().size(); i += 2)
    printer << (i ? ", " : "[") << getBox()[i] << ":" << getBox()[i + 1];
  printer << "]";
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
                                   int64_t lastLayer, Span experts,
                                   bool replicated, Span slices,
                                   StringAttr tensor, ArrayRef<int64_t> box) {
  if (firstLayer < 0 || lastLayer < firstLayer)
    return emitError() << "expected ascending layers, got " << firstLayer
                       << ".." << lastLayer;
  if (part != Part::Layer && lastLayer != 0)
    return emitError() << "only layers are numbered";
  if (experts.begin < 0 || experts.size() < 0)
    return emitError() << "expected ascending experts, got " << experts.begin
                       << ".." << experts.end - 1;
  if (slices.begin < 0 || slices.size() < 0)
    return emitError() << "expected ascending slices, got "
                       << sliceName(slices.begin) << ".."
                       << sliceName(slices.end - 1);
  if (replicated && !slices.empty())
    return emitError()
           << "an id selects slices or what is not sliced, not both";
  for (size_t i = 0; i < box.size(); i += 2)
    if (box[i] < 0 || box[i + 1] <= box[i])
      return emitError() << "expected ascending positions, got [" << box[i]
                         << ":" << box[i + 1] << "]";
  if (!box.empty() && !tensor)
    return emitError() << "positions need a tensor";
  if (!box.empty() && (replicated || !slices.empty()))
    return emitError() << "positions are the tensor's own and exclude slices";
  return success();
}
