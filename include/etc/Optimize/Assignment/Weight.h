// The value of putting a role on a device, in bytes that need not move.

#ifndef ETC_OPTIMIZE_ASSIGNMENT_WEIGHT_H
#define ETC_OPTIMIZE_ASSIGNMENT_WEIGHT_H

#include <compare>
#include <cstdint>

namespace etc::assignment {

/// Two objectives in one number: bytes kept on the *node* first, bytes kept on
/// the *device* second. Pairs add and scale by component and compare
/// lexicographically, so they form an ordered group and no "big M" is needed.
/// Who has one objective only leaves `node` at 0.
struct Weight {
  int64_t node = 0;
  int64_t device = 0;

  constexpr auto operator<=>(const Weight &) const = default;

  constexpr Weight &operator+=(Weight other) {
    node += other.node;
    device += other.device;
    return *this;
  }
  constexpr Weight &operator-=(Weight other) {
    node -= other.node;
    device -= other.device;
    return *this;
  }
};

constexpr Weight operator+(Weight a, Weight b) { return a += b; }
constexpr Weight operator-(Weight a, Weight b) { return a -= b; }
constexpr Weight operator*(int64_t count, Weight w) {
  return {count * w.node, count * w.device};
}

} // namespace etc::assignment

#endif // ETC_OPTIMIZE_ASSIGNMENT_WEIGHT_H
