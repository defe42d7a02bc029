//===- CheckCertificate.h - Whether a certificate proves its bound --------===//

#ifndef ETC_LIB_TRANSFORMS_CHECKCERTIFICATE_H
#define ETC_LIB_TRANSFORMS_CHECKCERTIFICATE_H

#include "WorthTable.h"
#include "etc/Transforms/LayoutOracle.h"

#include <set>

namespace etc {

/// Checks certificates against what lib/Layout says that the sides hold.
class CertificateChecker {
public:
  CertificateChecker(MigrationOp migration, const TensorTable &table,
                     const LayoutOracle &oracle);

  /// The duals prove what the certificate says, and its members are the devices
  /// that may take a role: one that leaves some out proves less.
  mlir::LogicalResult check(CertificateOp certificate);

private:
  using Columns = llvm::SmallVector<llvm::SmallVector<int64_t>>;
  using Pieces = llvm::SmallVector<Piece, 0>;
  struct Range {
    Piece piece;
    int64_t role;
  };
  void readSide(Side side, std::vector<Pieces> &pools,
                std::vector<Pieces> &ranges) const;
  Columns columnsOf(Level level) const;
  llvm::SmallVector<std::set<int64_t>> rolesOnNodes() const;
  GroupedProblem problemOf(const Columns &columns) const;
  int64_t worthOf(llvm::ArrayRef<Piece> pieces,
                  llvm::ArrayRef<int64_t> prevPools) const;
  std::map<int32_t, int64_t>
  rangesOf(llvm::ArrayRef<Piece> pieces,
           llvm::ArrayRef<llvm::SmallVector<int32_t>> columnsOfRole) const;
  mlir::LogicalResult checkMembers(CertificateOp certificate,
                                   const Columns &columns);

  mutable MigrationOp migration; ///< ops are handles, their getters not const
  const TensorTable &table;
  const LayoutOracle &oracle;
  llvm::SmallVector<int64_t> nodeOf;
  /// What every pool shares and every role has of its own, sorted.
  std::vector<Pieces> prevPools, currPools, currRanges;
  /// Previous ranges by tensor, layer and expert.
  std::map<std::tuple<unsigned, int64_t, int64_t>, std::vector<Range>>
      prevRanges;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_CHECKCERTIFICATE_H
