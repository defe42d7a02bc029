//===- RoleContents.cpp - What roles need, by who needs it ----------------===//
//
// Tensors whose boxes the same roles have, as those of most layers, are worked
// out once.
//
//===----------------------------------------------------------------------===//

#include "etc/Analysis/RoleContents.h"

#include <map>

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// A box, and a role that has it.
struct Mark {
  Piece box;
  int64_t role;
  auto operator<=>(const Mark &) const = default;
};

/// A box, and all roles that need it.
struct Cell {
  Piece box;
  SmallVector<int64_t> roles;
};

/// Who has and who needs what of one tensor.
struct Marks {
  std::vector<Mark> held, needed;
  auto operator<=>(const Marks &) const = default;
};

class ContentLister {
public:
  ContentLister(const TensorTable &table, const BothHoldings &holdings,
                ArrayRef<SmallVector<int64_t>> columns);
  std::optional<std::vector<NeededContent>> run();

private:
  using Key = std::tuple<unsigned, int64_t, int64_t>;
  Key keyOf(const Piece &piece) const {
    return {table.getPrimary(piece.tensor).value_or(piece.tensor), piece.layer,
            piece.expert};
  }
  void addHeld(ArrayRef<Piece> pieces, int64_t role);
  void addNeeded(ArrayRef<Piece> pieces, int64_t role);
  void read();
  void add(const Marks &marks, int64_t bytesOfElement);
  int64_t countLacking(const Piece &box, const Marks &marks, size_t column);

  const TensorTable &table;
  const BothHoldings &holdings;
  ArrayRef<SmallVector<int64_t>> columns;
  std::vector<llvm::SmallBitVector> holds; ///< [column] by previous role
  std::map<Key, Marks> marksOf;
  std::map<SmallVector<int64_t>, NeededContent> contents;
};
} // namespace

ContentLister::ContentLister(const TensorTable &table,
                             const BothHoldings &holdings,
                             ArrayRef<SmallVector<int64_t>> columns)
    : table(table), holdings(holdings), columns(columns) {
  for (ArrayRef<int64_t> roles : columns) {
    holds.emplace_back(holdings.prev.size());
    for (int64_t role : roles)
      holds.back().set(role);
  }
}

/// The box alone: in which tensor it lies does not tell it from others.
static Piece boxOf(const Piece &piece) {
  return {0, 0, 0, piece.outer, piece.cut, piece.inner};
}

void ContentLister::addHeld(ArrayRef<Piece> pieces, int64_t role) {
  for (const Piece &piece : pieces)
    marksOf[keyOf(piece)].held.push_back({boxOf(piece), role});
}

/// Padding that is new is made, not moved.
void ContentLister::addNeeded(ArrayRef<Piece> pieces, int64_t role) {
  for (const Piece &piece : pieces)
    if (auto old = getOldPart(table, holdings.prev, piece))
      marksOf[keyOf(piece)].needed.push_back({boxOf(*old), role});
}

void ContentLister::read() {
  const Holdings &prev = holdings.prev, &curr = holdings.curr;
  for (int64_t role = 0; role < prev.size(); ++role) {
    addHeld(prev.getShared(prev.getPool(role)), role);
    addHeld(prev.getOwn(role), role);
  }
  for (int64_t role = 0; role < curr.size(); ++role) {
    addNeeded(curr.getShared(curr.getPool(role)), role);
    addNeeded(curr.getOwn(role), role);
  }
  for (auto &[key, marks] : marksOf)
    for (std::vector<Mark> *list : {&marks.held, &marks.needed}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
}

int64_t ContentLister::countLacking(const Piece &box, const Marks &marks,
                                    size_t column) {
  SmallVector<Piece> rest = {box};
  for (const Mark &mark : marks.held)
    if (holds[column].test(mark.role) && !rest.empty())
      rest = subtract(rest, ArrayRef(mark.box));
  int64_t elements = 0;
  for (const Piece &piece : rest)
    elements += piece.size();
  return elements;
}

/// Disjoint boxes, and who needs each: copies of a tied tensor may be cut
/// differently.
static std::vector<Cell> cutIntoCells(ArrayRef<Mark> needed) {
  std::vector<Cell> cells;
  for (const Mark &mark : needed) {
    SmallVector<Piece> rest = {mark.box};
    for (size_t i = 0, known = cells.size(); i < known && !rest.empty(); ++i) {
      const std::optional<Piece> common = intersect(mark.box, cells[i].box);
      if (!common)
        continue;
      for (const Piece &other : subtract(cells[i].box, *common))
        cells.push_back({other, cells[i].roles});
      cells[i].box = *common;
      cells[i].roles.push_back(mark.role);
      rest = subtract(rest, ArrayRef(*common));
    }
    for (const Piece &piece : rest)
      cells.push_back({piece, {mark.role}});
  }
  return cells;
}

void ContentLister::add(const Marks &marks, int64_t bytesOfElement) {
  for (Cell &cell : cutIntoCells(marks.needed)) {
    llvm::sort(cell.roles);
    cell.roles.erase(llvm::unique(cell.roles), cell.roles.end());
    NeededContent &content = contents[cell.roles];
    content.roles = cell.roles;
    content.bytes += cell.box.size() * bytesOfElement;
    content.lacking.resize(columns.size());
    for (size_t column = 0; column < columns.size(); ++column)
      content.lacking[column] +=
          countLacking(cell.box, marks, column) * bytesOfElement;
  }
}

std::optional<std::vector<NeededContent>> ContentLister::run() {
  if (holdings.prev.isListed() || holdings.curr.isListed())
    return std::nullopt;
  read();
  std::map<Marks, int64_t> bytesOf;
  for (auto &[key, marks] : marksOf)
    if (!marks.needed.empty())
      bytesOf[std::move(marks)] +=
          table.getMovedBytes({std::get<0>(key), 0, 0, {0, 1}, {0, 1}, {0, 1}});
  for (const auto &[marks, bytes] : bytesOf)
    add(marks, bytes);
  std::vector<NeededContent> list;
  for (auto &[roles, content] : contents)
    if (content.bytes > 0)
      list.push_back(std::move(content));
  return list;
}

std::optional<std::vector<NeededContent>>
etc::listContents(const TensorTable &table, const BothHoldings &holdings,
                  ArrayRef<SmallVector<int64_t>> columns) {
  return ContentLister(table, holdings, columns).run();
}
