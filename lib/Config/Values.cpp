//===- Values.cpp - The words a request may use ---------------------------===//

#include "etc/Config/Values.h"

#include "etc/Config/Families.h"
#include "etc/Config/States.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc::config;

static Vocabulary familyWords() {
  Vocabulary words;
  for (const Family &family : families())
    words.accepted.push_back(family.name);
  return words;
}

const Vocabularies &etc::config::values() {
  static const Vocabularies table = {
      .family = familyWords(),
      .derive = {{"param", "none"}, {}},
      .policy = {{"best", "paper"}, {}},
      .place = {{"pack", "tp", "any"}, {}},
      .objective = {{"internode", "total", "time"}, {}},
      .order = {{"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"}, {}},
      .precision = {precisionNames(), {}},
      .optimizer = {optimizerNames(), {}},
      .block = {{"layer", "embed", "final", "head", "mtp"}, {}},
  };
  return table;
}

llvm::Error etc::config::checkWord(const Vocabulary &vocabulary,
                                   llvm::StringRef word, const Field &field) {
  if (llvm::is_contained(vocabulary.accepted, word))
    return llvm::Error::success();
  if (llvm::is_contained(vocabulary.later, word))
    return malformed(field, "\"" + word + "\" is not supported yet; " +
                                suggestName("", vocabulary.accepted));
  return malformed(field, "unknown value \"" + word + "\"; " +
                              suggestName(word, vocabulary.accepted));
}
