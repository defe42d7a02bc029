#include "core/plan/Referee.h"

#include "core/plan/Fingerprint.h"
#include "core/plan/RefereeRules.h"
#include "core/plan/SystemError.h"

#include <algorithm>
#include <new>

using namespace etc::plan;

std::string etc::plan::opPath(uint32_t program, uint32_t round, uint32_t op) {
  return text("programs[", program, "].rounds[", round, "].ops[", op, "]");
}

Writes::Writes(const PlanIndex &index, uint32_t program, Side side)
    : ends(index.holdings(program, side).size() + 1) {
  if (ends.size() == 1) // transit, of most programs
    return;
  std::vector<std::pair<uint32_t, Write>> found; // with its holding
  for (uint32_t r = 0; r != roundsOf(index, program); ++r) {
    const auto &ops = opsOf(index, program, r);
    for (uint32_t o = 0; o != ops.size(); ++o) {
      const fb::Op &op = *ops.Get(o);
      if (!isWrite(op) || targetSide(op) != side)
        continue;
      const auto holding =
          static_cast<uint32_t>(*index.find(program, side, op.tensor()));
      found.push_back({holding, {r, o, index.opBox(op)}});
      ++ends[holding + 1];
    }
  }
  for (size_t holding = 1; holding != ends.size(); ++holding)
    ends[holding] += ends[holding - 1];
  all.resize(found.size());
  std::vector<uint32_t> next = ends;
  for (const auto &[holding, write] : found)
    all[next[holding]++] = write;
}

static Status checkProgram(const PlanIndex &index, uint32_t program) {
  if (Status s = checkPlaces(index, program); !s.ok())
    return s;
  const Writes writes(index, program, Side::Curr),
      passed(index, program, Side::Transit);
  if (Status s = checkCoverage(index, program, Side::Curr, writes); !s.ok())
    return s;
  if (Status s = checkCoverage(index, program, Side::Transit, passed); !s.ok())
    return s;
  if (Status s = checkLiveness(index, program, writes); !s.ok())
    return s;
  if (Status s = checkTransit(index, program, passed); !s.ok())
    return s;
  if (Status s = checkDeferred(index, program); !s.ok())
    return s;
  return checkMemory(index, program);
}

static Status checkPrograms(const PlanIndex &index) {
  for (uint32_t p = 0; p != index.programCount(); ++p)
    if (Status s = checkProgram(index, p); !s.ok())
      return s;
  // What takes all programs was checked where there were all.
  return index.plan().slice() ? checkSlice(index) : checkPairing(index);
}

static Status checkAll(const PlanIndex &index, const fb::Plan *lane) {
  if (Status s = lane ? checkPrograms(PlanIndex(*lane)) : checkPrograms(index);
      !s.ok() || index.plan().slice())
    return s;
  if (Status s = checkSummary(index); !s.ok())
    return s;
  return checkBounds(index);
}

static Status outOfMemory() {
  return Status(ErrorKind::Usage,
                text("out of memory while checking the plan", kMoreMemory));
}

Status etc::plan::checkPlan(const PlanIndex &index, const fb::Plan *lane) {
  // Code without exceptions calls this.
  try {
    return checkAll(index, lane);
  } catch (const std::bad_alloc &) {
    return outOfMemory();
  }
}

Status etc::plan::checkPlan(const fb::Plan &plan) {
  try {
    return checkAll(PlanIndex(plan), nullptr);
  } catch (const std::bad_alloc &) {
    return outOfMemory();
  }
}
