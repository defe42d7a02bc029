//===- Bytecode.cpp - Bytecode from elsewhere -----------------------------===//

#include "dialect/Bytecode.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <optional>

using namespace etc;

namespace {

/// Sections of which the first number is a count of entries; of offsets of
/// attributes and types the first two are (mlir/Bytecode/Encoding.h, which is
/// not installed).
enum Section : unsigned {
  Strings = 0,
  Dialects = 1,
  AttributeOffsets = 3,
  ResourceOffsets = 6,
  Properties = 8
};

const char *nameOf(unsigned section) {
  switch (section) {
  case Strings:
    return "strings";
  case Dialects:
    return "dialects";
  case AttributeOffsets:
    return "attributes and types";
  case ResourceOffsets:
    return "resources";
  case Properties:
    return "properties";
  default:
    return nullptr;
  }
}

/// Takes bytecode apart. Nothing is taken beyond the end.
class Cursor {
public:
  explicit Cursor(llvm::StringRef rest) : rest(rest) {}

  bool isAtEnd() const { return rest.empty(); }
  std::optional<llvm::StringRef> take(uint64_t bytes) {
    if (bytes > rest.size())
      return std::nullopt;
    llvm::StringRef taken = rest.take_front(bytes);
    rest = rest.drop_front(bytes);
    return taken;
  }
  void skip(char padding) {
    rest = rest.drop_while([=](char c) { return c == padding; });
  }
  void skipPast(char end) { rest = rest.split(end).second; }

  /// A number with its length in the trailing zeros of its first byte.
  std::optional<uint64_t> number() {
    if (rest.empty())
      return std::nullopt;
    const auto first = static_cast<uint8_t>(rest.front());
    const unsigned bytes = first == 0 ? 9 : llvm::countr_zero(first) + 1;
    std::optional<llvm::StringRef> taken = take(bytes);
    if (!taken)
      return std::nullopt;
    char word[8] = {};
    llvm::StringRef digits = bytes == 9 ? taken->drop_front() : *taken;
    llvm::copy(digits, word);
    const uint64_t value = llvm::support::endian::read64le(word);
    return bytes == 9 ? value : value >> bytes;
  }

private:
  llvm::StringRef rest;
};

} // namespace

/// The count that is larger than the section, or nothing.
static std::optional<uint64_t> findOversizedCount(unsigned section,
                                                  llvm::StringRef bytes) {
  Cursor cursor(bytes);
  for (int i = 0; i != (section == AttributeOffsets ? 2 : 1); ++i) {
    std::optional<uint64_t> count = cursor.number();
    if (count && *count > bytes.size())
      return count;
  }
  return std::nullopt;
}

std::string etc::findOversizedSection(llvm::StringRef input) {
  constexpr char padding = static_cast<char>(0xcb);
  if (!mlir::isBytecode(llvm::MemoryBufferRef(input, "")))
    return {};
  Cursor cursor(input.drop_front(4)); // the magic number
  (void)cursor.number();              // the version
  cursor.skipPast('\0');              // who wrote it
  while (!cursor.isAtEnd()) {
    std::optional<llvm::StringRef> id = cursor.take(1);
    std::optional<uint64_t> length = cursor.number();
    if (!length)
      return {};
    const auto head = static_cast<uint8_t>(id->front());
    if (head & 0x80) { // the section is aligned
      (void)cursor.number();
      cursor.skip(padding);
    }
    std::optional<llvm::StringRef> bytes = cursor.take(*length);
    if (!bytes)
      return {};
    const unsigned section = head & 0x7f;
    if (!nameOf(section))
      continue;
    if (std::optional<uint64_t> count = findOversizedCount(section, *bytes))
      return (llvm::Twine("damaged bytecode: ") + llvm::Twine(*count) + " " +
              nameOf(section) + " in " + llvm::Twine(*length) + " bytes")
          .str();
  }
  return {};
}
