//===- Ranks.cpp - Virtual ranks and stages -------------------------------===//

#include "etc/Layout/Layout.h"

using namespace etc;
using namespace etc::layout;

int64_t etc::layout::rankOf(const config::Parallelism &parallel, Place place) {
  return place.role.t + parallel.tp * (place.d + parallel.dp * place.role.p);
}

Place etc::layout::placeOf(const config::Parallelism &parallel, int64_t rank) {
  int64_t group = rank / parallel.tp;
  return {.role = {.p = group / parallel.dp, .t = rank % parallel.tp},
          .d = group % parallel.dp};
}

Range etc::layout::layersOf(int64_t layers, const config::Parallelism &parallel,
                            int64_t p) {
  int64_t count = layers / parallel.pp;
  return {p * count, (p + 1) * count};
}

bool etc::layout::stageHolds(model::Block block,
                             const config::Parallelism &parallel, int64_t p) {
  switch (block) {
  case model::Block::Embed:
    return p == 0;
  case model::Block::Layer:
    return true;
  case model::Block::Final:
  case model::Block::Head:
  case model::Block::Mtp:
    return p == parallel.pp - 1;
  }
  return false;
}
