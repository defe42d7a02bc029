//===- Values.h - The words a request may use -------------------*- C++ -*-===//
//
// What members of models and configurations accept; the words of the request's
// own fields stand in their table (Fields.h).
//
//===----------------------------------------------------------------------===//

#ifndef ETC_REQUEST_VALUES_H
#define ETC_REQUEST_VALUES_H

#include "etc/Request/Diagnostic.h"

#include <vector>

namespace etc::request {

/// The numbers that a field accepts.
struct Bounds {
  int64_t least;
  int64_t most;
};

using Words = std::vector<llvm::StringRef>;

struct Vocabularies {
  Words family, order, block;
};

const Vocabularies &values();

/// Whether the word is one of those accepted; the error says which these are.
llvm::Error checkWord(llvm::ArrayRef<llvm::StringRef> accepted,
                      llvm::StringRef word, const Field &field);

} // namespace etc::request

#endif // ETC_REQUEST_VALUES_H
