//===- Values.cpp - The words a request may use ---------------------------===//

#include "etc/Config/Values.h"

#include "etc/Config/Families.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc::config;

static Words familyWords() {
  Words words;
  for (const Family &family : families())
    words.push_back(family.name);
  return words;
}

const Vocabularies &etc::config::values() {
  static const Vocabularies table = {
      .family = familyWords(),
      .order = {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"},
      .block = {"layer", "embed", "final", "head", "mtp"},
  };
  return table;
}

llvm::Error etc::config::checkWord(llvm::ArrayRef<llvm::StringRef> accepted,
                                   llvm::StringRef word, const Field &field) {
  if (llvm::is_contained(accepted, word))
    return llvm::Error::success();
  return malformed(field, "unknown value \"" + word + "\"; " +
                              suggestName(word, accepted));
}
