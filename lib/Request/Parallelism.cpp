//===- Parallelism.cpp - The shorthand of a configuration -----------------===//

#include "Scalars.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <numeric>

using namespace etc::request;
using llvm::Twine;

int64_t Parallelism::slots() const { return std::lcm(tp, expertTp() * ep); }

int64_t Parallelism::bucketElements() const {
  return bucketSize == defaultBuckets
             ? std::max<int64_t>(40'000'000, dp * cp * 1'000'000)
             : bucketSize;
}

namespace {
/// A dimension and its size.
struct Dimension {
  llvm::StringRef name;
  int64_t Parallelism::*size;
};
} // namespace

// In the order in which they are printed.
static const Dimension dimensions[] = {
    {"PP", &Parallelism::pp},   {"TP", &Parallelism::tp},
    {"DP", &Parallelism::dp},   {"CP", &Parallelism::cp},
    {"EP", &Parallelism::ep},   {"ETP", &Parallelism::etp},
    {"VPP", &Parallelism::vpp},
};

/// How data-parallel ranks shard, in torch's words.
static std::string shardsOf(const Parallelism &parallel) {
  if (parallel.dp == parallel.fsdp)
    return "FSDP" + std::to_string(parallel.fsdp);
  return "HSDP" + std::to_string(parallel.dp / parallel.fsdp) + "x" +
         std::to_string(parallel.fsdp);
}

std::string Parallelism::str() const {
  std::string text;
  for (const Dimension &dimension : dimensions) {
    // An absent ETP is not 1, but as much as TP.
    bool isEtp = dimension.size == &Parallelism::etp;
    int64_t size = this->*dimension.size;
    if (dimension.size == &Parallelism::dp && fsdp > 1)
      text += shardsOf(*this);
    else if (isEtp ? size != 0 && size != tp : size != 1)
      text += (dimension.name + Twine(size)).str();
  }
  if (text.empty())
    text = "PP1";
  if (distributedOptimizer)
    text += "+zero1";
  if (bucketSize == defaultBuckets)
    text += "+buckets";
  else if (bucketSize)
    text += "+buckets=" + std::to_string(bucketSize);
  if (!stages.empty()) {
    auto digits = llvm::map_range(
        stages, [](int64_t layers) { return std::to_string(layers); });
    text += "+stages=" + llvm::join(digits, ":");
  }
  if (order == RankOrder::TpCpEpPpDp)
    text += "+order=pp-dp";
  if (mtpStage >= 0)
    text += "+mtp=" + std::to_string(mtpStage);
  return text;
}

namespace {
/// Takes the shorthand apart, one dimension at a time.
class ShorthandParser {
public:
  ShorthandParser(llvm::StringRef text, const Field &field)
      : text(text), field(field) {}

  llvm::Expected<Parallelism> parse();

private:
  llvm::Error parseDimension(llvm::StringRef &rest);
  llvm::Error parseSize(llvm::StringRef name, llvm::StringRef &rest,
                        int64_t &size);
  llvm::Error parseShards(llvm::StringRef name, llvm::StringRef &rest);
  llvm::Error parseSuffix(llvm::StringRef suffix);
  llvm::Error parseStages(llvm::StringRef value);
  llvm::Error once(llvm::StringRef name, llvm::StringRef what);
  llvm::Error countedTwice() const;

  llvm::StringRef text;
  const Field &field;
  Parallelism parallel;
  llvm::StringMap<bool> seen;
};
} // namespace

llvm::Expected<Parallelism> ShorthandParser::parse() {
  if (text.empty() || !llvm::isAlpha(text.front()))
    return malformed(field,
                     "expected a configuration such as PP4TP2DP3, got \"" +
                         text + "\"");
  auto [sizes, suffixes] = text.split('+');
  for (llvm::StringRef rest = sizes; !rest.empty();)
    if (llvm::Error error = parseDimension(rest))
      return error;
  if (sizes.size() != text.size())
    for (llvm::StringRef suffix : llvm::split(suffixes, '+'))
      if (llvm::Error error = parseSuffix(suffix))
        return error;
  return parallel;
}

llvm::Error ShorthandParser::once(llvm::StringRef name, llvm::StringRef what) {
  if (seen.try_emplace(name, true).second)
    return llvm::Error::success();
  return malformed(field, name + " stands twice in \"" + text + "\"; give " +
                              what + " once");
}

llvm::Error ShorthandParser::parseSize(llvm::StringRef name,
                                       llvm::StringRef &rest, int64_t &size) {
  llvm::StringRef digits = rest.take_until(llvm::isAlpha);
  rest = rest.drop_front(digits.size());
  if (digits.empty() || !llvm::all_of(digits, llvm::isDigit) ||
      digits.getAsInteger(10, size) || size < gridBounds.least ||
      size > gridBounds.most)
    return malformed(field, "expected a positive integer up to " +
                                Twine(gridBounds.most) + " after " + name +
                                ", got \"" + digits + "\"");
  return llvm::Error::success();
}

/// FSDP8, or HSDP2x4: the replicas, and the shards of each.
llvm::Error ShorthandParser::parseShards(llvm::StringRef name,
                                         llvm::StringRef &rest) {
  int64_t replicas = 1;
  if (name == "HSDP") {
    if (llvm::Error error = parseSize(name, rest, replicas))
      return error;
    if (!rest.consume_front_insensitive("x"))
      return malformed(field, "expected the shards of each replica after HSDP" +
                                  Twine(replicas) + ", such as HSDP" +
                                  Twine(replicas) + "x4, in \"" + text + "\"");
  }
  if (llvm::Error error = parseSize(name, rest, parallel.fsdp))
    return error;
  if (replicas > gridBounds.most / parallel.fsdp)
    return malformed(field, "expected at most " + Twine(gridBounds.most) +
                                " data-parallel ranks, got " + Twine(replicas) +
                                " x " + Twine(parallel.fsdp));
  parallel.dp = replicas * parallel.fsdp;
  seen["FSDP"] = true;
  return seen.try_emplace("DP", true).second ? llvm::Error::success()
                                             : countedTwice();
}

llvm::Error ShorthandParser::countedTwice() const {
  return malformed(field, "DP, FSDP and HSDP each count the data-parallel "
                          "ranks of \"" +
                              text +
                              "\"; give one of them, such as HSDP2x4 for 2 "
                              "replicas of 4 shards");
}

llvm::Error ShorthandParser::parseDimension(llvm::StringRef &rest) {
  std::string name = rest.take_while(llvm::isAlpha).upper();
  rest = rest.drop_front(name.size());
  if (name == "FSDP" || name == "HSDP")
    return parseShards(name, rest);
  const Dimension *known = llvm::find_if(
      dimensions, [&](const Dimension &entry) { return entry.name == name; });
  if (known == std::end(dimensions)) {
    llvm::SmallVector<llvm::StringRef> names;
    for (const Dimension &dimension : dimensions)
      names.push_back(dimension.name);
    names.append({"FSDP", "HSDP"});
    return malformed(field, "unknown dimension \"" + name + "\" in \"" + text +
                                "\"; " + suggestName(name, names));
  }
  if (llvm::Error error = parseSize(name, rest, parallel.*known->size))
    return error;
  if (known->size == &Parallelism::dp && seen.contains("FSDP"))
    return countedTwice();
  return once(name, "every dimension");
}

llvm::Error ShorthandParser::parseStages(llvm::StringRef value) {
  for (llvm::StringRef part : llvm::split(value, ':')) {
    int64_t layers;
    if (part.empty() || !llvm::all_of(part, llvm::isDigit) ||
        part.getAsInteger(10, layers) || layers > layerBounds.most)
      return malformed(field, "expected the layers of every stage after "
                              "stages=, such as 7:8:8:7, got \"" +
                                  value + "\"");
    parallel.stages.push_back(layers);
  }
  return llvm::Error::success();
}

llvm::Error ShorthandParser::parseSuffix(llvm::StringRef suffix) {
  auto [name, value] = suffix.split('=');
  if (llvm::Error error = once(name, "every option"))
    return error;
  if (suffix == "zero1") {
    parallel.distributedOptimizer = true;
    return llvm::Error::success();
  }
  if (suffix == "buckets") {
    parallel.bucketSize = Parallelism::defaultBuckets;
    return llvm::Error::success();
  }
  if (name == "buckets")
    return store(parseInteger(value, bucketBounds, field), parallel.bucketSize);
  if (name == "stages")
    return parseStages(value);
  if (suffix == "order=pp-dp" || suffix == "order=dp-pp") {
    parallel.order =
        value == "pp-dp" ? RankOrder::TpCpEpPpDp : RankOrder::TpCpEpDpPp;
    return llvm::Error::success();
  }
  if (name == "mtp" && !value.empty() && llvm::all_of(value, llvm::isDigit) &&
      !value.getAsInteger(10, parallel.mtpStage))
    return llvm::Error::success();
  return malformed(field, "unknown option \"+" + suffix + "\" in \"" + text +
                              "\"; accepted: +zero1, +buckets, "
                              "+buckets=40000000, +stages=7:8:8:7, "
                              "+order=pp-dp, +mtp=0");
}

llvm::Expected<Parallelism> etc::request::parseParallelism(llvm::StringRef text,
                                                           const Field &field) {
  return ShorthandParser(text, field).parse();
}
