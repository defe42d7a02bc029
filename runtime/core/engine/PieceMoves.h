// Moves of messages, by the piece that they fill or take apart.

#ifndef ETC_RUNTIME_CORE_ENGINE_PIECEMOVES_H
#define ETC_RUNTIME_CORE_ENGINE_PIECEMOVES_H

#include "core/pack/Move.h"

#include <span>
#include <vector>

namespace etc::runtime {

/// All moves of one direction of a round, as one table for a worker that takes
/// them at once, and piece by piece for messages that travel so.
class PieceMoves {
public:
  /// Positions of a message in its round and of a piece in its message.
  struct Position {
    size_t message, piece;
    auto operator<=>(const Position &) const = default;
  };

  void clear();
  void add(Position position, const Move &move) {
    added.push_back({position, move});
  }
  /// After the last add().
  void arrange();

  std::span<const Move> all() const { return moves; }
  std::span<const Move> of(Position position) const;

private:
  struct Entry {
    Position position;
    Move move;
  };

  std::vector<Entry> added;
  std::vector<Position> positions; // of the moves, ascending
  std::vector<Move> moves;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_PIECEMOVES_H
