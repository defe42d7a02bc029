//===- Values.cpp - The words a request may use ---------------------------===//

#include "etc/Request/Values.h"

#include "etc/Request/Families.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc::request;

static Words familyWords() {
  Words words;
  for (const Family &family : families())
    words.push_back(family.name);
  return words;
}

const Vocabularies &etc::request::values() {
  static const Vocabularies table = {
      .family = familyWords(),
      .order = {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"},
      .block = {"layer", "embed", "final", "head", "mtp"},
  };
  return table;
}

llvm::Error etc::request::checkWord(llvm::ArrayRef<llvm::StringRef> accepted,
                                    llvm::StringRef word, const Field &field) {
  if (llvm::is_contained(accepted, word))
    return llvm::Error::success();
  return malformed(field, "unknown value \"" + word + "\"; " +
                              suggestName(word, accepted));
}
