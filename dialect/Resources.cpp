//===- Resources.cpp - Syntax and limits of a cluster's rates -------------===//

#include "dialect/Etc.h"
#include "dialect/Limits.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace etc;
using namespace mlir;

/// `KEYWORD rate after latency`
static ParseResult parseRate(AsmParser &parser, StringRef keyword,
                             int64_t &rate, int64_t &latency) {
  return failure(parser.parseKeyword(keyword) || parser.parseInteger(rate) ||
                 parser.parseKeyword("after") || parser.parseInteger(latency));
}

Attribute ResourcesAttr::parse(AsmParser &parser, Type) {
  const SMLoc loc = parser.getCurrentLocation();
  std::string name;
  int64_t linkRate, linkLatency, nics, nicRate, nicLatency, packRate, acks = 0;
  if (parser.parseLess() || parser.parseString(&name) ||
      parseRate(parser, "link", linkRate, linkLatency) ||
      parser.parseKeyword("nics") || parser.parseInteger(nics) ||
      parseRate(parser, "of", nicRate, nicLatency) ||
      parser.parseKeyword("pack") || parser.parseInteger(packRate))
    return {};
  if (succeeded(parser.parseOptionalKeyword("acks")) &&
      parser.parseInteger(acks))
    return {};
  const bool assumed = succeeded(parser.parseOptionalKeyword("assumed"));
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ResourcesAttr>(
      loc, parser.getContext(), parser.getBuilder().getStringAttr(name),
      linkRate, linkLatency, nics, nicRate, nicLatency, packRate, acks,
      assumed);
}

void ResourcesAttr::print(AsmPrinter &printer) const {
  printer << "<" << getName() << " link " << getLinkRate() << " after "
          << getLinkLatency() << " nics " << getNics() << " of " << getNicRate()
          << " after " << getNicLatency() << " pack " << getPackRate();
  if (getAcks())
    printer << " acks " << getAcks();
  if (getAssumed())
    printer << " assumed";
  printer << ">";
}

LogicalResult
ResourcesAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr,
                      int64_t linkRate, int64_t linkLatency, int64_t nics,
                      int64_t nicRate, int64_t nicLatency, int64_t packRate,
                      int64_t acks, bool) {
  for (auto [what, rate, most] : {std::tuple("links", linkRate, mostRate),
                                  {"NICs", nicRate, mostRate},
                                  {"packing", packRate, mostPackRate}})
    if (rate < 1 || rate > most)
      return emitError() << "expected a rate of " << what << " from 1 to "
                         << most << " bytes a second, got " << rate;
  if (nics < 1 || nics > mostNics)
    return emitError() << "expected 1 to " << mostNics << " NICs a node, got "
                       << nics;
  if (linkLatency < 0 || nicLatency < 0)
    return emitError() << "latencies must be at least 0";
  if (acks < 0 || acks >= 1000000)
    return emitError() << "expected acknowledgements of 0 to 999999 parts per "
                          "million, got "
                       << acks;
  return success();
}
