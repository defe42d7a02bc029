// What proves a bound over all roles.
//
// The one proof of V17 and of plan files: it counts again what roles find and
// lack on columns, what the duals then prove, and at which rate it can arrive.

#ifndef ETC_PROOF_ROLEBOUNDPROOF_H
#define ETC_PROOF_ROLEBOUNDPROOF_H

#include "core/plan/plan_generated.h"
#include "core/proof/Claims.h"

#include <optional>
#include <string>

namespace etc {

/// What a bound over all roles is about, by an account of its own.
struct RoleBoundFacts {
  std::vector<int64_t> nodes;    ///< devices of each
  std::vector<int64_t> prevRole; ///< [device], or -1 where it holds nothing
  std::vector<bool> canTakeRole; ///< [device]
  plan::fb::Place place = plan::fb::Place::any;
  int64_t linkRate = 0, nicRate = 0, nics = 0;

  int64_t prevRoles = 0, currRoles = 0; ///< how many there are
  std::vector<int64_t> currRole;        ///< [rank] of the current side
  int64_t tensorParallel = 1;           ///< neighbouring ranks of a group
  int64_t replicas = 1;                 ///< ranks of each current role
  /// What current roles need and living devices' previous roles held.
  SharedBytes shared;
};

/// A bound as an op or a file states it. Numbers may be any.
struct StatedRoleBound {
  bool isOfNodes = false;
  plan::fb::RoleWitness witness = plan::fb::RoleWitness::each;
  std::vector<int64_t> inside, u, v;
  int64_t bytes = 0, rate = 0;
};

/// What is wrong with the bound; nothing where it is proved.
std::optional<std::string> findFlaw(const RoleBoundFacts &facts,
                                    const StatedRoleBound &bound);

} // namespace etc

#endif // ETC_PROOF_ROLEBOUNDPROOF_H
