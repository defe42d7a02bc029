//===- Parallelism.cpp - The shorthand of a configuration -----------------===//

#include "Scalars.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <numeric>

using namespace etc::config;
using llvm::Twine;

int64_t Parallelism::slots() const { return std::lcm(tp, expertTp() * ep); }

std::string Parallelism::str() const {
  std::string text;
  auto append = [&](const char *name, int64_t size) {
    if (size != 1)
      text += name + std::to_string(size);
  };
  append("PP", pp);
  append("TP", tp);
  append("DP", dp);
  return text.empty() ? "PP1" : text;
}

llvm::Error etc::config::checkUnplannedSize(int64_t size, const Field &field,
                                            const Twine &prefix) {
  if (size == 1)
    return llvm::Error::success();
  return malformed(field, prefix + Twine(size) +
                              " is not supported yet; this version plans pp, "
                              "tp and dp");
}

namespace {
/// Takes the shorthand apart, one dimension at a time.
class ShorthandParser {
public:
  ShorthandParser(llvm::StringRef text, const Field &field)
      : text(text), rest(text), field(field) {}

  llvm::Expected<Parallelism> parse();

private:
  llvm::Error parseDimension();
  llvm::Error store(llvm::StringRef name, int64_t size);

  llvm::StringRef text, rest;
  const Field &field;
  Parallelism parallel;
  llvm::StringMap<int64_t> seen;
};
} // namespace

llvm::Expected<Parallelism> ShorthandParser::parse() {
  if (text.ends_with(".json") || text.ends_with(".etcplan"))
    return malformed(field, "an inventory or a plan is not supported yet; "
                            "expected a configuration such as PP4TP2DP3, got "
                            "\"" +
                                text + "\"");
  if (text.empty() || !llvm::isAlpha(text.front()))
    return malformed(field,
                     "expected a configuration such as PP4TP2DP3, got \"" +
                         text + "\"");
  while (!rest.empty())
    if (llvm::Error error = parseDimension())
      return error;
  return parallel;
}

llvm::Error ShorthandParser::parseDimension() {
  std::string name = rest.take_while(llvm::isAlpha).upper();
  rest = rest.drop_front(name.size());
  llvm::StringRef digits = rest.take_until(llvm::isAlpha);
  rest = rest.drop_front(digits.size());

  static const llvm::StringRef names[] = {"PP", "TP",  "DP", "CP",
                                          "EP", "ETP", "VPP"};
  if (!llvm::is_contained(names, name))
    return malformed(field, "unknown dimension \"" + name + "\" in \"" + text +
                                "\"; " + suggestName(name, names));
  int64_t size;
  if (digits.empty() || !llvm::all_of(digits, llvm::isDigit) ||
      digits.getAsInteger(10, size) || size < gridBounds.least ||
      size > gridBounds.most)
    return malformed(field, "expected a positive integer up to " +
                                Twine(gridBounds.most) + " after " + name +
                                ", got \"" + digits + "\"");
  if (!seen.try_emplace(name, size).second)
    return malformed(field, name + " stands twice in \"" + text +
                                "\"; give every dimension once");
  return store(name, size);
}

llvm::Error ShorthandParser::store(llvm::StringRef name, int64_t size) {
  if (name == "PP")
    parallel.pp = size;
  else if (name == "TP")
    parallel.tp = size;
  else if (name == "DP")
    parallel.dp = size;
  else
    return checkUnplannedSize(size, field, name.lower() + ": ");
  return llvm::Error::success();
}

llvm::Expected<Parallelism> etc::config::parseParallelism(llvm::StringRef text,
                                                          const Field &field) {
  return ShorthandParser(text, field).parse();
}
