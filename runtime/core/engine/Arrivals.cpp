#include "core/engine/Arrivals.h"

#include <algorithm>

using namespace etc::runtime;
using etc::plan::Side;
using etc::plan::fb::OpKind;

Arrivals::Arrivals(const plan::PlanIndex &index, uint32_t program)
    : rounds(index.holdings(program, Side::Curr).size()) {
  uint32_t number = 0;
  for (const auto *round : *index.program(program).rounds()) {
    ++number;
    for (const auto *op : *round->ops())
      if (op->kind() != OpKind::send && op->kind() != OpKind::release &&
          plan::targetSide(*op) == Side::Curr)
        rounds[*index.find(program, Side::Curr, op->tensor())] = number;
  }
}

void Arrivals::ended(uint32_t now) {
  {
    std::lock_guard lock(mutex);
    count = now;
  }
  changed.notify_all();
}

void Arrivals::stop() {
  {
    std::lock_guard lock(mutex);
    isStopped = true;
  }
  changed.notify_all();
}

bool Arrivals::isOver() const {
  std::lock_guard lock(mutex);
  return isStopped;
}

uint32_t Arrivals::endedRounds() const {
  std::lock_guard lock(mutex);
  return count;
}

bool Arrivals::has(size_t position) const {
  std::lock_guard lock(mutex);
  return count >= rounds[position];
}

bool Arrivals::wait(size_t position) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return isStopped || count >= rounds[position]; });
  return count >= rounds[position];
}
