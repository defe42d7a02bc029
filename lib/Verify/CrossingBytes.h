//===- CrossingBytes.h - What some roles need and others held ---*- C++ -*-===//

#ifndef ETC_LIB_VERIFY_CROSSINGBYTES_H
#define ETC_LIB_VERIFY_CROSSINGBYTES_H

#include "etc/Verify/LayoutOracle.h"

#include <map>

namespace etc {

/// Bytes, in the types that move, that current roles need and previous roles
/// did not hold. A tied copy and its twin are one tensor; each byte counts
/// once.
class CrossingBytes {
public:
  /// Of tables that outlive it.
  CrossingBytes(const TensorTable &table, const LayoutOracle &oracle)
      : table(table), oracle(oracle) {}

  void addHolder(int64_t prevRole);
  void addNeeder(int64_t currRole);
  /// Of all types that move, or of those that are not deferred.
  int64_t count(bool ofPause) const;

private:
  struct Side {
    std::vector<Piece> held, needed;
  };
  Side &sideOf(Piece &piece);

  const TensorTable &table;
  const LayoutOracle &oracle;
  /// By tensor, layer and expert.
  std::map<std::tuple<unsigned, int64_t, int64_t>, Side> sides;
};

} // namespace etc

#endif // ETC_LIB_VERIFY_CROSSINGBYTES_H
