//===- Needs.h - What a device keeps and what it lacks ----------*- C++ -*-===//

#ifndef ETC_ANALYSIS_NEEDS_H
#define ETC_ANALYSIS_NEEDS_H

#include "etc/Analysis/Devices.h"
#include "etc/Analysis/Holdings.h"

#include <array>
#include <map>

namespace etc {

/// What a device of one current and one previous role does to get its state, or
/// a part of it.
struct Needs {
  llvm::SmallVector<Piece, 0> kept;
  /// What is made from a twin that the device holds, by the twin's number.
  std::map<unsigned, llvm::SmallVector<Piece, 0>> keptTied;
  llvm::SmallVector<Piece, 0> zeroed;
  /// What neither is kept nor is new.
  llvm::SmallVector<Piece, 0> lacking;
};

/// The needs of every pair of roles that is asked for, each worked out once.
class NeedsTable {
public:
  /// Of tables that outlive it.
  NeedsTable(const TensorTable &table, const Holdings &prev,
             const Holdings &curr)
      : table(table), prev(prev), curr(curr) {}

  /// The needs of a device that takes current role `role` and had previous role
  /// `own` (-1: none): those of what its pool shares, and those of its range.
  /// Nothing where a tensor has no source on the previous side; `getUnsourced`
  /// then names it.
  using Parts = std::array<const Needs *, 2>;
  std::optional<Parts> get(int64_t role, int64_t own);
  llvm::StringRef getUnsourced() const { return unsourced; }

private:
  bool work(llvm::ArrayRef<Piece> pieces, int64_t own, Needs &needs);
  bool addPiece(const Piece &piece, int64_t own, Needs &needs);

  const TensorTable &table;
  const Holdings &prev;
  const Holdings &curr;
  /// By current pool and previous role or pool, and by both roles.
  std::map<std::pair<int64_t, int64_t>, Needs> ofPools, ofRanges;
  std::string unsourced;
};

/// The needs of every device of a migration that has its placement.
class DeviceNeeds {
public:
  DeviceNeeds(MigrationOp migration, mlir::AnalysisManager &analyses);

  /// The role that the device takes, or -1.
  int64_t getCurrRole(int64_t device) const { return currRole[device]; }
  /// Both parts; null where the device takes no role.
  const NeedsTable::Parts &get(int64_t device) const { return parts[device]; }
  /// A current tensor that does not exist in the previous state; empty where
  /// all do. Where there is one, needs are incomplete.
  llvm::StringRef getUnsourced() const { return needs.getUnsourced(); }

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &preserved);

private:
  const Devices &devices;
  NeedsTable needs;
  llvm::SmallVector<int64_t> currRole;        ///< [device]
  llvm::SmallVector<NeedsTable::Parts> parts; ///< [device]
};

} // namespace etc

#endif // ETC_ANALYSIS_NEEDS_H
