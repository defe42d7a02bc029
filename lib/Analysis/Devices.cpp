//===- Devices.cpp - Ranks and their places in the grid -------------------===//

#include "etc/Analysis/Devices.h"

using namespace etc;

RankPlace etc::placeOfRank(ParallelAttr parallel, int64_t rank) {
  int64_t world = parallel.getStageWorld(), slots = parallel.getSlots();
  int64_t stage = rank / world, number = rank % world;
  if (parallel.getPpBeforeDp()) {
    int64_t group = parallel.getTp() * parallel.getCp();
    stage = rank / group % parallel.getPp();
    number = rank % group + rank / (group * parallel.getPp()) * group;
  }
  int64_t role = stage * slots + number % slots, replica = number / slots;
  if (parallel.hasRanges())
    return {role * parallel.getReplicas() + replica, 0};
  return {role, replica};
}

int64_t etc::rankOfPlace(ParallelAttr parallel, RankPlace place) {
  RoleAttr role = parallel.getRole(place.role);
  int64_t replica = role.hasReplica() ? role.getReplica() : place.replica;
  int64_t stage = role.getStage(),
          number = role.getSlot() + parallel.getSlots() * replica;
  if (!parallel.getPpBeforeDp())
    return stage * parallel.getStageWorld() + number;
  int64_t group = parallel.getTp() * parallel.getCp();
  return number % group + group * (stage + parallel.getPp() * (number / group));
}
