// The constraint (C4) of a cut with tolls, and its sentence.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_VERIFYTOLLS_H
#define ETC_LIB_OPTIMIZE_ROUTING_VERIFYTOLLS_H

#include "etc/Optimize/Routing/Bound.h"
#include "etc/Tolls.h"

namespace etc::routing {

/// The devices that take part as TollCount numbers them.
struct Participants {
  std::vector<int32_t> devices;         ///< [number]
  std::vector<int32_t> numbers;         ///< [device], or -1
  std::vector<TollCount::Set> mates;    ///< [number] those of the same node
  std::vector<TollCount::Set> nicUsers; ///< [NIC]

  /// Of a problem in which at most TollCount::kMostDevices take part.
  explicit Participants(const Problem &problem);
  /// Those of a list.
  TollCount::Set setOf(const std::vector<int32_t> &list) const;
  /// The tolls that all bytes pay at least.
  int64_t count(const Problem &problem, const TollCount::Takers &takers) const;
};

/// How many devices take part.
size_t countParticipants(const Problem &problem);

/// Whether a list of devices is one of some that take part, in order.
std::optional<std::string> checkDeviceList(const Problem &problem,
                                           const char *name,
                                           const std::vector<int32_t> &list);

std::optional<std::string> verifyTolls(const Problem &problem, const Cut &cut);

/// "NICs out of devices 4, 6, links into devices 1, 2 have to carry 2.622 MB at
/// 2 x 8 MB/s + 2 x 2 MB/s: nothing is below 131 ms"
std::string describeTolls(const Problem &problem, const Cut &cut);

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_VERIFYTOLLS_H
