//===- CrossingBytes.cpp - What some roles need and others held -----------===//

#include "CrossingBytes.h"

#include <algorithm>

using namespace etc;

CrossingBytes::Marks &CrossingBytes::marksOf(Piece &piece) {
  piece.tensor = table.getPrimary(piece.tensor).value_or(piece.tensor);
  return marks[{piece.tensor, piece.layer, piece.expert}];
}

void CrossingBytes::addHolder(int64_t prevRole, int32_t group) {
  if (!known.insert({false, prevRole, group}).second)
    return;
  for (Piece piece : oracle.holdings(etc::Side::Prev, prevRole)) {
    Marks &its = marksOf(piece);
    its.push_back({piece, false, group});
  }
}

/// Padding that is new is made, not moved.
void CrossingBytes::addNeeder(int64_t currRole, int32_t group) {
  if (!known.insert({true, currRole, group}).second)
    return;
  for (const Piece &piece : oracle.holdings(etc::Side::Curr, currRole)) {
    const std::optional<Piece> old = oracle.wholeOnPrev(piece);
    if (!old)
      continue;
    if (std::optional<Piece> common = intersect(piece, *old)) {
      Marks &its = marksOf(*common);
      its.push_back({*common, true, group});
    }
  }
}

/// Roles that hold alike list the same boxes.
static std::vector<Mark<Piece>> distinct(std::vector<Mark<Piece>> marks) {
  const auto key = [](const Mark<Piece> &mark) {
    return std::tie(mark.box, mark.isNeeded, mark.group);
  };
  std::sort(marks.begin(), marks.end(),
            [&](const auto &a, const auto &b) { return key(a) < key(b); });
  marks.erase(std::unique(marks.begin(), marks.end(),
                          [&](const auto &a, const auto &b) {
                            return key(a) == key(b);
                          }),
              marks.end());
  return marks;
}

template <typename Elements>
int64_t CrossingBytes::countBy(const Elements &elements, bool ofPause) const {
  int64_t bytes = 0;
  for (const auto &[key, its] : marks) {
    const Piece one = {std::get<0>(key), 0, 0, {0, 1}, {0, 1}, {0, 1}};
    bytes += elements(distinct(its)) *
             (ofPause ? table.getUrgentBytes(one) : table.getMovedBytes(one));
  }
  return bytes;
}

int64_t CrossingBytes::count(bool ofPause) const {
  return countBy([](Marks its) { return countUncovered(std::move(its)); },
                 ofPause);
}

int64_t CrossingBytes::countLeaving(const LeavingGroups &groups,
                                    bool ofPause) const {
  return countBy(
      [&](Marks its) {
        return countElements(std::move(its), [&](const Marks &open) {
          return groups.leaves(open);
        });
      },
      ofPause);
}

int64_t CrossingBytes::countTolls(const TollCount &tolls, bool ofPause) const {
  return countBy(
      [&](Marks its) {
        return countElements(std::move(its), [&](const Marks &open) {
          return countTollsOf(open, tolls);
        });
      },
      ofPause);
}
