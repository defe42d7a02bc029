//===- LayoutString.cpp - Megatron's pipeline layouts ---------------------===//

#include "LayoutString.h"

#include "Scalars.h"

#include "llvm/ADT/StringExtras.h"

using namespace etc::request;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// Spells a layout out, and counts what is in its chunks.
class LayoutParser {
public:
  LayoutParser(StringRef text, const Field &field) : text(text), field(field) {}

  Expected<PipelineLayout> parse();

private:
  llvm::Error error(const Twine &what) const {
    return malformed(field, "pipeline layout \"" + text + "\": " + what);
  }
  llvm::Error unroll(StringRef rest, std::string &target);
  llvm::Error repeat(StringRef &rest, StringRef unit, std::string &target);
  llvm::Error readChunk(StringRef chunk, bool isFirst, bool isLast);

  StringRef text;
  const Field &field;
  PipelineLayout layout;
};
} // namespace

/// Appends `unit` as often as a following `*n` says, or once.
llvm::Error LayoutParser::repeat(StringRef &rest, StringRef unit,
                                 std::string &target) {
  int64_t times = 1;
  if (rest.consume_front("*")) {
    StringRef digits = rest.take_while(llvm::isDigit);
    rest = rest.drop_front(digits.size());
    if (digits.getAsInteger(10, times) || times > layerBounds.most)
      return error("expected a number up to " + Twine(layerBounds.most) +
                   " after *, got \"" + digits + "\"");
  }
  if (unit.size() * times + target.size() >
      static_cast<size_t>(2 * layerBounds.most))
    return error("expected at most " + Twine(layerBounds.most) +
                 " layers, got more");
  for (; times > 0; --times)
    target += unit;
  return llvm::Error::success();
}

llvm::Error LayoutParser::unroll(StringRef rest, std::string &target) {
  while (!rest.empty()) {
    size_t width = 1;
    std::string unit = rest.take_front().str();
    if (rest.front() == '(') {
      size_t close = rest.find(')');
      StringRef inner = rest.slice(1, close);
      if (close == StringRef::npos || inner.contains('('))
        return error("expected a ) for every (, before the next");
      unit.clear();
      if (llvm::Error failed = unroll(inner, unit))
        return failed;
      width = close + 1;
    }
    rest = rest.drop_front(width);
    if (llvm::Error failed = repeat(rest, unit, target))
      return failed;
  }
  return llvm::Error::success();
}

llvm::Error LayoutParser::readChunk(StringRef chunk, bool isFirst,
                                    bool isLast) {
  size_t unknown = chunk.find_first_not_of("EtmL");
  if (unknown != StringRef::npos)
    return error("unknown letter '" + chunk.substr(unknown, 1) +
                 "'; accepted: E, t, m, L, |, *, ( and )");
  if (chunk.count('E') != isFirst || (isFirst && chunk.front() != 'E'))
    return error("expected one E, at the very beginning");
  if (chunk.count('L') != isLast || (isLast && chunk.back() != 'L'))
    return error("expected one L, at the very end");
  int64_t layers = chunk.count('t'), mtp = chunk.count('m');
  if (layout.mtpChunk >= 0 && (layers || mtp))
    return error(mtp ? "expected all m in one chunk"
                     : "expected every t before the m");
  if (mtp && chunk.rfind('t') != StringRef::npos &&
      chunk.rfind('t') > chunk.find('m'))
    return error("expected every t before the m");
  if (mtp) {
    layout.mtpChunk = static_cast<int64_t>(layout.layers.size());
    layout.mtpLayers = mtp;
  }
  layout.layers.push_back(layers);
  return llvm::Error::success();
}

Expected<PipelineLayout> LayoutParser::parse() {
  std::string compact = text.str(), plain;
  llvm::erase(compact, ',');
  if (llvm::Error failed = unroll(compact, plain))
    return failed;
  llvm::SmallVector<StringRef> chunks;
  StringRef(plain).split(chunks, '|');
  for (size_t i = 0; i < chunks.size(); ++i)
    if (llvm::Error failed =
            readChunk(chunks[i], i == 0, i + 1 == chunks.size()))
      return failed;
  return std::move(layout);
}

Expected<PipelineLayout> etc::request::parseLayoutString(StringRef text,
                                                         const Field &field) {
  return LayoutParser(text, field).parse();
}
