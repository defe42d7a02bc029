//===- JointPlacement.h - Devices and pairs, decided together -------------===//

#ifndef ETC_LIB_TRANSFORMS_JOINTPLACEMENT_H
#define ETC_LIB_TRANSFORMS_JOINTPLACEMENT_H

#include "etc/Analysis/Benefits.h"
#include "etc/Optimize/Placement/Nics.h"

namespace etc {

/// The problem of placement of a migration.
placement::Problem posePlacement(MigrationOp migration, const Devices &devices,
                                 const Benefits &benefits);

/// The policy of `place`, which is any where it is absent.
placement::Policy policyOf(std::optional<Place> place);

/// The device of every current rank, from that of every replica of every role.
llvm::SmallVector<int64_t> toRanks(ParallelAttr curr,
                                   llvm::ArrayRef<int64_t> deviceOf);

/// What the links and NICs of a migration carry; nothing where nobody says.
std::optional<placement::Rates> ratesOf(MigrationOp migration);

/// What roles change places for, beyond the bytes that they keep.
struct PlacementSearch {
  bool shareNodes = true; ///< fewer bytes enter nodes
  bool reachNics = false; ///< more NICs take part; needs rates
};

/// A placement, and what those without a part of the search come to.
struct PlacedRoles {
  placement::Solution solution;
  struct Without {
    int64_t slowest;  ///< of its cuts, as placement::countSlowest has it
    int64_t entering; ///< bytes that enter nodes
  };
  /// Nothing where that part changed nothing.
  std::optional<Without> withoutSharing = {}, withoutNics = {};
};

/// Lists what enters nodes, or says that it can't be known; called where it is
/// needed.
using EnteringFn =
    llvm::function_ref<const std::optional<placement::Entering> &()>;

/// A solution of the problem, changed as the search says. Without rates, cuts
/// take no time.
std::optional<PlacedRoles>
solvePlacement(const placement::Problem &problem, EnteringFn listEntering,
               const std::optional<placement::Rates> &rates,
               PlacementSearch search);

/// What solutions within narrower values of a place come to, where these put
/// roles on other devices and what enters nodes is known.
llvm::SmallVector<std::pair<Place, PlacedRoles::Without>, 2>
listNarrower(placement::Problem problem, EnteringFn listEntering,
             const std::optional<placement::Rates> &rates,
             PlacementSearch search, const placement::Solution &solution);

/// What places roles.
struct PlacementOptions {
  bool totalFirst = false;
  std::optional<Place> within = {}; ///< of the migration's `place`, if not all
  bool listsNarrower = false; ///< marks what narrower values of it come to
  PlacementSearch search = {};
};

/// The device of every current rank: those that the request fixes, or a
/// solution of the problem. Emits the error where groups do not fit. Marks the
/// migration where a search changed the solution.
mlir::FailureOr<llvm::SmallVector<int64_t>>
placeJointly(MigrationOp migration, const Devices &devices,
             const Benefits &benefits, const TensorTable &table,
             const BothHoldings &holdings, PlacementOptions options);

/// Makes the pairs those of a placement: each rank comes from what its device
/// was.
void rewritePairs(MigrationOp migration, const Devices &devices,
                  llvm::ArrayRef<int64_t> placement);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_JOINTPLACEMENT_H
