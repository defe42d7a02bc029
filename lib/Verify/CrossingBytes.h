//===- CrossingBytes.h - What some roles need and others held ---*- C++ -*-===//

#ifndef ETC_LIB_VERIFY_CROSSINGBYTES_H
#define ETC_LIB_VERIFY_CROSSINGBYTES_H

#include "etc/Elements.h"
#include "etc/Verify/LayoutOracle.h"

#include <map>
#include <set>

namespace etc {

/// Bytes, in the types that move, that current roles need and previous roles
/// did not hold. A tied copy and its twin are one tensor; each byte counts
/// once.
class CrossingBytes {
public:
  /// Of tables that outlive it.
  CrossingBytes(const TensorTable &table, const LayoutOracle &oracle)
      : table(table), oracle(oracle) {}

  /// A role of a device of a group.
  void addHolder(int64_t prevRole, int32_t group = 0);
  void addNeeder(int64_t currRole, int32_t group = 0);
  /// Of all types that move, or of those that are not deferred.
  int64_t count(bool ofPause) const;
  /// Those that have to leave, by the groups.
  int64_t countLeaving(const LeavingGroups &groups, bool ofPause) const;
  /// The tolls that they pay, where groups are numbers of devices.
  int64_t countTolls(const TollCount &tolls, bool ofPause) const;

private:
  using Marks = std::vector<Mark<Piece>>;
  Marks &marksOf(Piece &piece);
  template <typename Elements>
  int64_t countBy(const Elements &elements, bool ofPause) const;

  const TensorTable &table;
  const LayoutOracle &oracle;
  /// By tensor, layer and expert.
  std::map<std::tuple<unsigned, int64_t, int64_t>, Marks> marks;
  std::set<std::tuple<bool, int64_t, int32_t>> known; ///< needers and holders
};

} // namespace etc

#endif // ETC_LIB_VERIFY_CROSSINGBYTES_H
