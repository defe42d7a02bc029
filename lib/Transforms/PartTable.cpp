//===- PartTable.cpp - The parts that pieces are cut into -----------------===//

#include "PartTable.h"

#include "etc/Analysis/ProgramFlows.h"

using namespace etc;

unsigned PartTable::addColumn(int64_t chunk, int64_t chunks) {
  if (chunks == 1)
    return 0;
  const auto *cut =
      llvm::find_if(cuts, [&](const Cut &cut) { return cut.chunks == chunks; });
  if (cut == cuts.end()) {
    cut = &cuts.emplace_back(Cut{chunks, width});
    width += chunks;
  }
  return cut->column + chunk;
}

uint32_t PartTable::number(const Piece &part) {
  auto [entry, isNew] = numberOf.try_emplace(part, pieces.size());
  if (isNew)
    pieces.push_back(part);
  return entry->second;
}

uint32_t PartTable::addRow(const Piece &piece, bool isCut) {
  auto [entry, isNew] = rowOf.try_emplace(&piece, rows.size());
  if (!isNew)
    return entry->second;
  rows.push_back(number(piece));
  if (isCut)
    for (const Cut &cut : cuts)
      for (int64_t chunk = 0; chunk < cut.chunks; ++chunk)
        rows.push_back(number(partOf(piece, chunk, cut.chunks)));
  return entry->second;
}
