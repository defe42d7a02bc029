//===- PartTable.cpp - The parts that pieces are cut into -----------------===//

#include "PartTable.h"

#include "etc/Analysis/ProgramFlows.h"

using namespace etc;

unsigned PartTable::addColumn(const ChunkRange &range) {
  if (range.isWhole())
    return 0;
  const auto [entry, isNew] = columnOf.try_emplace(range, ranges.size() + 1);
  if (isNew)
    ranges.push_back(range);
  return entry->second;
}

static Piece takeRange(const Piece &piece, const ChunkRange &range) {
  const unsigned axis = chunkAxis(piece, range.chunks);
  Piece part = piece;
  part[axis] = {chunkOf(piece[axis], range.first, range.chunks).begin,
                chunkOf(piece[axis], range.last, range.chunks).end};
  return part;
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
    for (const ChunkRange &range : ranges)
      rows.push_back(number(takeRange(piece, range)));
  return entry->second;
}
