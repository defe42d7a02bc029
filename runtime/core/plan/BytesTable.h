// Numbers by the bytes of what they are of.

#ifndef ETC_PLAN_BYTESTABLE_H
#define ETC_PLAN_BYTESTABLE_H

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace etc::plan {

/// Looks numbers up by bytes that somebody else keeps: finding one touches its
/// place here and, where the hashes agree, these bytes.
class BytesTable {
public:
  /// The number of some bytes. New ones get `number`, and are to be kept from
  /// then on. `bytesOf` says where the bytes of a number begin.
  template <typename BytesOf>
  uint32_t findOrAdd(std::string_view bytes, uint32_t number, BytesOf bytesOf) {
    if (2 * (count + 1) > places.size())
      grow();
    const Place wanted{
        static_cast<uint32_t>(std::hash<std::string_view>()(bytes)),
        static_cast<uint32_t>(bytes.size()), number};
    size_t i = wanted.hash & mask();
    for (; places[i].size != kFree; i = (i + 1) & mask()) {
      const Place &it = places[i];
      if (it.hash == wanted.hash && it.size == wanted.size &&
          std::string_view(reinterpret_cast<const char *>(bytesOf(it.number)),
                           it.size) == bytes)
        return it.number;
    }
    places[i] = wanted;
    ++count;
    return number;
  }

private:
  static constexpr uint32_t kFree = ~uint32_t{0};
  struct Place {
    uint32_t hash, size = kFree, number;
  };

  size_t mask() const { return places.size() - 1; }
  void put(const Place &place) {
    size_t i = place.hash & mask();
    while (places[i].size != kFree)
      i = (i + 1) & mask();
    places[i] = place;
  }
  /// At least half of the places are free.
  void grow() {
    std::vector<Place> before(places.empty() ? 64 : 2 * places.size());
    before.swap(places);
    for (const Place &place : before)
      if (place.size != kFree)
        put(place);
  }

  std::vector<Place> places; // a power of two
  size_t count = 0;
};

} // namespace etc::plan

#endif // ETC_PLAN_BYTESTABLE_H
