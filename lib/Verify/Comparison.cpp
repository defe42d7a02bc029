//===- Comparison.cpp - What two descriptions differ in -------------------===//

#include "Comparison.h"

using namespace etc;
using namespace mlir;

LogicalResult Comparison::words(const Twine &name, StringRef found,
                                StringRef expected) const {
  if (found == expected)
    return success();
  return Refusal(migration, rule)
         << "internal error: " << name.str() << " is " << found << " in "
         << made << ", " << expected << " in " << source;
}

LogicalResult Comparison::numbers(const Twine &of,
                                  ArrayRef<NumberPair> pairs) const {
  for (const NumberPair &pair : pairs)
    if (pair.found != pair.expected)
      return words(of + pair.name, std::to_string(pair.found),
                   std::to_string(pair.expected));
  return success();
}

LogicalResult Comparison::lists(const Twine &name, ArrayRef<int64_t> found,
                                ArrayRef<int64_t> expected) const {
  if (found == expected)
    return success();
  if (found.size() != expected.size())
    return numbers(name, {{".size", static_cast<int64_t>(found.size()),
                           static_cast<int64_t>(expected.size())}});
  const size_t at = llvm::mismatch(found, expected).first - found.begin();
  return numbers(name + "[" + Twine(at), {{"]", found[at], expected[at]}});
}
