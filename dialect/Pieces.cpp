//===- Pieces.cpp - Arithmetic on parts of tensors ------------------------===//

#include "dialect/Piece.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

using namespace etc;

size_t PieceHash::operator()(const Piece &piece) const {
  const int64_t fields[] = {
      piece.tensor,      piece.layer,       piece.expert,
      piece.outer.begin, piece.outer.end,   piece.cut.begin,
      piece.cut.end,     piece.inner.begin, piece.inner.end};
  return llvm::xxh3_64bits(llvm::ArrayRef(
      reinterpret_cast<const uint8_t *>(fields), sizeof(fields)));
}

llvm::SmallVector<Piece> etc::subtract(llvm::ArrayRef<Piece> pieces,
                                       llvm::ArrayRef<Piece> parts) {
  llvm::SmallVector<Piece> left(pieces), next;
  for (const Piece &part : parts) {
    if (left.empty())
      break;
    next.clear();
    for (const Piece &piece : left)
      forEachOutside(piece, part,
                     [&](const Piece &rest) { next.push_back(rest); });
    std::swap(left, next);
  }
  return left;
}

/// Both pieces as one, where the second continues the first along `axis` and is
/// alike along the others.
static std::optional<Piece> join(const Piece &first, const Piece &second,
                                 unsigned axis) {
  if (first[axis].end != second[axis].begin)
    return std::nullopt;
  Piece joined = second;
  joined[axis].begin = first[axis].begin;
  Piece wanted = first;
  wanted[axis].end = second[axis].end;
  return joined == wanted ? std::optional(joined) : std::nullopt;
}

static void joinAlong(llvm::SmallVectorImpl<Piece> &pieces, unsigned axis) {
  size_t kept = 0;
  for (size_t next = 1; next < pieces.size(); ++next) {
    if (auto joined = join(pieces[kept], pieces[next], axis))
      pieces[kept] = *joined;
    else if (++kept != next)
      pieces[kept] = pieces[next];
  }
  pieces.truncate(std::min(kept + 1, pieces.size()));
}

void etc::joinPieces(llvm::SmallVectorImpl<Piece> &pieces) {
  // Not llvm::sort, which takes qsort for what is trivially copied.
  std::sort(pieces.begin(), pieces.end());
  for (unsigned axis = Piece::rank(); axis-- > 0;)
    joinAlong(pieces, axis);
}
