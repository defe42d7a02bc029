#include "core/plan/CondensedLists.h"

#include <array>
#include <bit>
#include <limits>
#include <span>

using namespace etc::plan;

static_assert(std::endian::native == std::endian::little,
              "entries are taken apart as they are in memory");

constexpr unsigned kBits = 7;
constexpr uint8_t kMore = 1u << kBits;

/// Visits all lists in the order of a file, until `visit` returns false. Those
/// of each program come last.
template <typename Lists, typename Visit>
static bool visitLists(Lists &lists, Visit visit) {
  const bool isDone =
      visit("names", lists.names) && visit("numbers", lists.numbers) &&
      visit("bounds", lists.bounds) && visit("boxes", lists.boxes) &&
      visit("shards", lists.shards) && visit("held", lists.held) &&
      visit("lists", lists.lists) && visit("rounds", lists.rounds) &&
      visit("cuts", lists.cuts) && visit("pieces", lists.pieces) &&
      visit("splits", lists.splits) && visit("items", lists.items) &&
      visit("flows", lists.flows);
  if (!isDone)
    return false;
  for (auto &program : lists.programs)
    if (!visit("peers", program.peers) || !visit("steps", program.steps) ||
        !visit("prev_lists", program.prev_lists) ||
        !visit("curr_lists", program.curr_lists))
      return false;
  return true;
}

/// The numbers of an entry of a list; those of a step's kind and flags are one.
template <typename Entry> struct NumbersOf {
  using Number = std::conditional_t<sizeof(Entry) == sizeof(int64_t) &&
                                        std::is_integral_v<Entry>,
                                    uint64_t, uint32_t>;
  static constexpr size_t kCount = sizeof(Entry) / sizeof(Number);
  using Array = std::array<Number, kCount>;
};

static void put(uint64_t value, std::vector<uint8_t> &bytes) {
  for (; value >= kMore; value >>= kBits)
    bytes.push_back(static_cast<uint8_t>(value) | kMore);
  bytes.push_back(static_cast<uint8_t>(value));
}

/// Small ones are small numbers, whatever their sign.
static uint64_t foldSign(uint64_t difference) {
  return difference << 1 ^ (difference >> 63 ? ~uint64_t{0} : 0);
}

static uint64_t unfoldSign(uint64_t folded) {
  return folded >> 1 ^ (folded & 1 ? ~uint64_t{0} : 0);
}

std::vector<uint8_t> etc::plan::packLists(const CondensedLists &lists) {
  std::vector<uint8_t> bytes;
  visitLists(
      lists, [&]<typename Entry>(const char *, const std::vector<Entry> &list) {
        using Numbers = NumbersOf<Entry>;
        put(list.size(), bytes);
        typename Numbers::Array last{};
        for (const Entry &entry : list) {
          const auto numbers = std::bit_cast<typename Numbers::Array>(entry);
          for (size_t i = 0; i != Numbers::kCount; ++i)
            put(foldSign(uint64_t{numbers[i]} - last[i]), bytes);
          last = numbers;
        }
        return true;
      });
  return bytes;
}

namespace {

/// Reads lists, as long as they are whole.
class ListReader {
public:
  explicit ListReader(std::span<const uint8_t> bytes) : bytes(bytes) {}

  template <typename Entry> bool read(std::vector<Entry> &list);
  size_t left() const { return bytes.size(); }

private:
  std::optional<uint64_t> next();

  std::span<const uint8_t> bytes; // that follow
};

} // namespace

std::optional<uint64_t> ListReader::next() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += kBits) {
    const uint8_t byte = bytes.front();
    bytes = bytes.subspan(1);
    value |= uint64_t{byte & (kMore - 1u)} << shift;
    if (byte < kMore)
      return value;
  }
  return std::nullopt;
}

template <typename Entry> bool ListReader::read(std::vector<Entry> &list) {
  using Numbers = NumbersOf<Entry>;
  const auto count = next();
  if (!count || *count > bytes.size() / Numbers::kCount)
    return false;
  list.reserve(*count);
  typename Numbers::Array numbers{};
  for (uint64_t entry = 0; entry != *count; ++entry) {
    for (auto &number : numbers) {
      const auto folded = next();
      if (!folded)
        return false;
      const uint64_t value = number + unfoldSign(*folded);
      if (value > std::numeric_limits<typename Numbers::Number>::max())
        return false;
      number = static_cast<typename Numbers::Number>(value);
    }
    list.push_back(std::bit_cast<Entry>(numbers));
  }
  return true;
}

Result<CondensedLists> etc::plan::unpackLists(const fb::Plan &plan) {
  const auto &packed = *plan.condensed()->packed();
  ListReader reader({packed.data(), packed.size()});
  CondensedLists lists;
  lists.programs.resize(plan.programs()->size());
  const char *damaged = nullptr;
  visitLists(lists, [&](const char *name, auto &list) {
    const bool isRead = reader.read(list);
    if (!isRead)
      damaged = name;
    return isRead;
  });
  if (damaged)
    return malformed("condensed.packed: the list ", damaged,
                     " is cut off, or has numbers that are too large");
  if (reader.left())
    return malformed("condensed.packed: ", reader.left(),
                     " bytes more than the lists have");
  return lists;
}
