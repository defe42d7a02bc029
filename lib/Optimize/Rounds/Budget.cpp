// What a memory budget leaves for each class of devices.

#include "etc/Optimize/Rounds/Budget.h"

#include "Ratio.h"

#include <algorithm>

namespace etc::rounds {
namespace {

__extension__ using Int128 = __int128;

/// A round's staging is not cut smaller than this, in bytes, nor than 1/512 of
/// the larger state: smaller rounds would cost more time than they save memory.
constexpr int64_t smallestSlab = 4096;
constexpr int64_t smallestShare = 512;
/// The least that a direction gets of the staging where both are used, in ppm:
/// a little that goes the other way would else be cut into very small pieces.
constexpr int64_t smallestWay = 125000;

/// What a direction gets of the staging, in ppm.
int64_t shareOf(int64_t bytes, int64_t others) {
  if (others == 0)
    return million;
  const auto share = int64_t(Int128(million) * bytes / (bytes + others));
  return std::clamp(share, smallestWay, million - smallestWay);
}

} // namespace

int64_t Budget::limitOf(int64_t maxState) const {
  return isRatio ? int64_t(Int128(maxState) * amount / million) : amount;
}

std::string Budget::str() const {
  if (!isRatio)
    return std::to_string(amount) + " bytes";
  std::string text = std::to_string(amount / million) + "." +
                     std::to_string(million + amount % million).substr(1);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text + "x";
}

std::vector<ClassMemory> shareMemory(const Budget &budget,
                                     std::span<const ClassTotals> totals,
                                     int64_t eighths, int64_t portions) {
  std::vector<ClassMemory> classes;
  classes.reserve(totals.size());
  for (const ClassTotals &it : totals) {
    const int64_t maxState = std::max(it.prev, it.curr);
    const int64_t limit = budget.limitOf(maxState);
    const int64_t beside = budget.isRatio ? 0 : it.beside;
    const int64_t staging = (limit - maxState - beside) * eighths / 8;
    auto slabOf = [&](int64_t bytes, int64_t others) {
      if (bytes == 0)
        return int64_t(0);
      auto slab = int64_t(Int128(staging) * shareOf(bytes, others) / million);
      if (portions > 1)
        slab = std::min(slab, (bytes + portions - 1) / portions);
      return std::max({smallestSlab, maxState / smallestShare, slab});
    };
    classes.push_back({it.prev, it.curr, limit, slabOf(it.sent, it.received),
                       slabOf(it.received, it.sent), beside});
  }
  return classes;
}

int64_t findWidestSlab(int64_t bytes, int64_t state, int64_t portions) {
  return bytes == 0 ? 0
                    : std::max({smallestSlab, state / smallestShare,
                                (bytes + portions - 1) / portions});
}

int64_t countPortions(int64_t bytes, int64_t rate, int64_t nanoseconds,
                      int64_t hops) {
  constexpr int64_t mostForHop = 40, nanosecondsOfSecond = 1'000'000'000;
  // K^2 <= (bytes / rate) * hops / (nanoseconds of a round).
  const Int128 time = Int128(bytes) * hops * nanosecondsOfSecond,
               round = Int128(rate) * nanoseconds;
  int64_t portions = 1;
  while (portions < mostForHop * hops &&
         Int128(portions + 1) * (portions + 1) * round <= time)
    ++portions;
  return portions;
}

int64_t countChunks(int64_t bytes, int64_t slab, int64_t parts) {
  return bytes == 0 ? 1 : (parts * bytes + slab - 1) / slab;
}

int64_t shareOfRound(int64_t whole, std::span<const ClassTotals> totals,
                     std::span<const ClassMemory> memory) {
  int64_t share = whole;
  for (size_t i = 0; i < totals.size(); ++i)
    for (auto [bytes, slab] :
         {std::pair(totals[i].sent, memory[i].sendSlab),
          std::pair(totals[i].received, memory[i].recvSlab)})
      if (bytes > slab)
        share = std::min(share, int64_t(Int128(whole) * slab / bytes));
  return share;
}

int64_t peakOf(const Budget &budget, const Solution &solution,
               std::span<const ClassTotals> totals, size_t index) {
  const int64_t peak = solution.peak[index];
  if (budget.isRatio || solution.tailPeak.empty())
    return peak;
  return std::max(peak, solution.tailPeak[index] + totals[index].beside);
}

Budget keptBy(const Solution &solution, std::span<const ClassTotals> totals,
              const Budget &like) {
  if (!like.isRatio) {
    int64_t most = 0;
    for (size_t i = 0; i < totals.size(); ++i)
      most = std::max(most, peakOf(like, solution, totals, i));
    return {false, most};
  }
  const int64_t ratio = worstRatio(solution, totals);
  return {true, (ratio + 999) / 1000 * 1000};
}

} // namespace etc::rounds
