//===- SummaryWords.h - What the lines of a summary mean --------*- C++ -*-===//

#ifndef ETC_EXPORT_SUMMARYWORDS_H
#define ETC_EXPORT_SUMMARYWORDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace etc {

/// The word that a line of a summary begins with, and what the line says.
struct SummaryWord {
  llvm::StringRef word, meaning;
};

/// In the order of a summary.
llvm::ArrayRef<SummaryWord> summaryWords();

/// All of them, wrapped for a terminal.
void writeSummaryWords(llvm::raw_ostream &os);

} // namespace etc

#endif // ETC_EXPORT_SUMMARYWORDS_H
