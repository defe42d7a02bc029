//===- Input.cpp - What etc-opt reads -------------------------------------===//

#include "Input.h"

#include "llvm/ADT/StringExtras.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace etc;

static plan::Status usage(const std::string &message) {
  return plan::Status(plan::ErrorKind::Usage, message);
}

static plan::Result<std::string> readStandardInput(uint64_t mostBytes) {
  std::string text;
  char part[64 * 1024];
  while (text.size() <= mostBytes) {
    ssize_t count = ::read(STDIN_FILENO, part, sizeof part);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return usage(std::string("-: cannot read: ") + std::strerror(errno));
    if (count == 0)
      return text;
    text.append(part, static_cast<size_t>(count));
  }
  return usage("-: larger than " + std::to_string(mostBytes) +
               " bytes, the limit");
}

plan::Result<std::string> etc::readInput(const std::string &name,
                                         uint64_t mostBytes) {
  return name == "-" ? readStandardInput(mostBytes)
                     : plan::readInput(name, mostBytes);
}

//===----------------------------------------------------------------------===//
// Nesting
//===----------------------------------------------------------------------===//

namespace {
/// Follows brackets, and signs in front of each other, outside of strings and
/// comments.
class NestingScan {
public:
  explicit NestingScan(llvm::StringRef text) : text(text) {}

  /// The position of the first character that is too deep, or npos.
  size_t run();

private:
  static constexpr size_t most = 256;

  void skipString();
  bool isTooDeep(char letter);

  llvm::StringRef text;
  size_t at = 0, depth = 0, signs = 0;
};
} // namespace

/// To the quote that closes it.
void NestingScan::skipString() {
  for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
    at += text[at] == '\\';
}

bool NestingScan::isTooDeep(char letter) {
  if (llvm::isSpace(letter))
    return false;
  signs = letter == '-' ? signs + 1 : 0;
  llvm::StringRef rest = text.substr(at), last = text.take_front(at);
  const bool compares = rest.starts_with("<=") || rest.starts_with(">="),
             isArrow = letter == '>' && last.ends_with("-");
  if (compares || isArrow)
    return false;
  if (llvm::StringRef("{([<").contains(letter))
    ++depth;
  else if (llvm::StringRef("})]>").contains(letter) && depth > 0)
    --depth;
  return depth > most || signs > most;
}

size_t NestingScan::run() {
  for (; at < text.size(); ++at) {
    if (text[at] == '"')
      skipString();
    else if (text.substr(at).starts_with("//"))
      at = std::min(text.find('\n', at), text.size());
    else if (isTooDeep(text[at]))
      return at;
  }
  return llvm::StringRef::npos;
}

std::optional<std::string> etc::findDeepNesting(llvm::StringRef text) {
  const size_t at = NestingScan(text).run();
  if (at == llvm::StringRef::npos)
    return std::nullopt;
  llvm::StringRef before = text.take_front(at);
  const size_t line = before.count('\n') + 1,
               column = at - (before.rfind('\n') + 1) + 1;
  return std::to_string(line) + ":" + std::to_string(column) +
         ": error: nested deeper than 256 levels; no plan needs that";
}
