#include "core/plan/Condense.h"
#include "core/plan/CondenseShards.h"
#include "core/plan/Templates.h"

using namespace etc;
using namespace etc::plan;

namespace {

class CondensedChecker {
public:
  CondensedChecker(const fb::Plan &plan, uint64_t fileBytes)
      : plan(plan), condensed(*plan.condensed()), budget(fileBytes) {}

  Status run();

private:
  Status charge(uint64_t count, uint64_t size) {
    return budget.charge(count, size);
  }
  Status chargeLists();
  Status chargeProgram(const fb::Program &program);
  Status checkRuns(const char *name,
                   const flatbuffers::Vector<const fb::Run *> &runs,
                   uint64_t end);
  Status checkShardBoxes();
  Status checkRounds();
  Status checkSplits();
  Status checkPiece(uint32_t number, const fb::Tensor &tensor);
  Status checkItem(uint32_t number);
  Status checkFlows();
  Status checkLists(const Uints *lists);
  Status checkSteps(const fb::Program &program);
  Status checkProgram(const fb::Program &program);

  const fb::Plan &plan;
  const fb::Condensed &condensed;
  TableBudget budget;
  std::vector<const fb::Tensor *> tensors; // as far as templates say
  std::vector<uint64_t> operationsOfSplits;
  std::vector<uint64_t> operations; // of each flow
  std::vector<uint32_t> lastRounds; // of each cut
  std::vector<uint32_t> lastOfSplits;
  std::vector<uint32_t> lastOfFlows;
};

} // namespace

/// A file may refer to one list any number of times.
Status CondensedChecker::chargeLists() {
  for (uint32_t i = 0; i != sizeOf(plan.patterns()); ++i)
    if (Status s = charge(plan.patterns()->Get(i)->size(), 1); !s.ok())
      return s;
  for (uint32_t i = 0; i != sizeOf(plan.certificates()); ++i) {
    const fb::Certificate &certificate = *plan.certificates()->Get(i);
    if (Status s = charge(sizeOf(certificate.row_duals()) +
                              sizeOf(certificate.column_duals()),
                          sizeof(uint64_t));
        !s.ok())
      return s;
  }
  return Status::success();
}

Status CondensedChecker::chargeProgram(const fb::Program &program) {
  uint64_t numbers = 0;
  for (const Uints *list :
       {program.devices(), program.prev_shards(), program.curr_shards(),
        program.transit_shards(), program.prev_lists(), program.curr_lists()})
    numbers += sizeOf(list);
  if (Status s = charge(1, sizeof(fb::ProgramT) + numbers * sizeof(uint32_t) +
                               sizeOf(program.steps()) * sizeof(fb::Step));
      !s.ok())
    return s;
  for (const fb::Peers *peers : *program.peers())
    if (Status s = charge(1, sizeof(fb::PeersT) +
                                 peers->devices()->size() * sizeof(uint32_t));
        !s.ok())
      return s;
  for (const fb::Round *round : *program.rounds())
    if (Status s = charge(1, sizeof(fb::RoundT) +
                                 round->ops()->size() * sizeof(fb::Op));
        !s.ok())
      return s;
  return Status::success();
}

/// Runs may overlap, so that their entries are charged.
Status
CondensedChecker::checkRuns(const char *name,
                            const flatbuffers::Vector<const fb::Run *> &runs,
                            uint64_t end) {
  for (uint32_t i = 0; i != runs.size(); ++i) {
    const fb::Run &run = *runs.Get(i);
    if (run.count() == 0 || uint64_t{run.first()} + run.count() > end)
      return malformed("condensed.", name, "[", i, "]: ", run.count(), " from ",
                       run.first(), " on, of ", end);
    if (Status s = charge(run.count(), sizeof(uint32_t)); !s.ok())
      return s;
  }
  return Status::success();
}

Status CondensedChecker::checkShardBoxes() {
  uint64_t end = 0; // of the boxes of the longer shards before
  for (uint32_t i = 0; i != plan.shards()->size(); ++i) {
    const fb::Shard &shard = *plan.shards()->Get(i);
    const uint64_t next = uint64_t{shard.first_box()} + shard.box_count();
    if (next > plan.boxes()->size())
      return malformed(item("shards", i), ": boxes [", shard.first_box(), ", ",
                       next, ") are not in [0, ", plan.boxes()->size(), ")");
    if (Status s = charge(shard.box_count(), sizeof(uint32_t)); !s.ok())
      return s;
    if (shard.box_count() <= kMostSharedBoxes)
      continue;
    if (shard.first_box() < end)
      return malformed(item("shards", i), ".first_box: ", shard.first_box(),
                       ", the boxes of a shard before end at ", end);
    end = next;
  }
  return Status::success();
}

Status CondensedChecker::checkRounds() {
  for (const fb::Run *cut : *condensed.cuts()) {
    uint32_t last = 0;
    for (uint32_t i = cut->first(); i != cut->first() + cut->count(); ++i) {
      const uint32_t round = condensed.rounds()->Get(i);
      if (round >= plan.forecast()->size())
        return outOfRange(item("condensed.rounds", i), round,
                          plan.forecast()->size());
      last = std::max(last, round);
    }
    lastRounds.push_back(last);
  }
  return Status::success();
}

Status CondensedChecker::checkSplits() {
  const auto &pieces = *condensed.pieces();
  for (uint32_t i = 0; i != pieces.size(); ++i)
    if (pieces.Get(i)->cut() >= condensed.cuts()->size())
      return outOfRange(item("condensed.pieces", i) + ".cut",
                        pieces.Get(i)->cut(), condensed.cuts()->size());
  for (const fb::Run *split : *condensed.splits()) {
    uint64_t sum = 0;
    uint32_t last = 0;
    for (uint32_t i = split->first(); i != split->first() + split->count();
         ++i) {
      const uint32_t cut = pieces.Get(i)->cut();
      sum = addBytes(sum, condensed.cuts()->Get(cut)->count());
      last = std::max(last, lastRounds[cut]);
    }
    operationsOfSplits.push_back(sum);
    lastOfSplits.push_back(last);
  }
  return Status::success();
}

/// Boxes that are not cut are checked with their operations; a release has 0.
Status CondensedChecker::checkPiece(uint32_t number, const fb::Tensor &tensor) {
  const fb::Piece &piece = *condensed.pieces()->Get(number);
  const uint32_t parts = condensed.cuts()->Get(piece.cut())->count();
  const uint64_t numbers = 2 * uint64_t{tensor.shape()->size()};
  if (Status s = charge(parts, numbers * sizeof(int64_t)); !s.ok())
    return s;
  const uint64_t end = piece.box() + numbers;
  if (end > plan.bounds()->size())
    return malformed(item("condensed.pieces", number), ".box: ends at ", end,
                     " of ", plan.bounds()->size());
  if (parts == 1)
    return Status::success();
  Status s = checkBox(plan, piece.box(), tensor);
  return s.ok() ? s : under(item("condensed.pieces", number) + ".box", s);
}

Status CondensedChecker::checkItem(uint32_t number) {
  const fb::Item &entry = *condensed.items()->Get(number);
  auto path = [&](const char *name) {
    return item("condensed.items", number) + name;
  };
  if (entry.count() == 0)
    return malformed(path(".count"), ": 0 is not at least 1");
  for (auto [name, first] : {std::pair(".tensor", entry.tensor()),
                             std::pair(".source", entry.source())})
    if (uint64_t{first} + entry.count() > tensors.size())
      return malformed(path(name), ": ", entry.count(), " from ", first,
                       " on, of ", tensors.size());
  if (entry.split() >= condensed.splits()->size())
    return outOfRange(path(".split"), entry.split(),
                      condensed.splits()->size());
  const fb::Run &split = *condensed.splits()->Get(entry.split());
  for (uint32_t t = 0; t != entry.count(); ++t)
    for (uint32_t i = split.first(); i != split.first() + split.count(); ++i)
      if (Status s = checkPiece(i, *tensors[entry.tensor() + t]); !s.ok())
        return s;
  return Status::success();
}

Status CondensedChecker::checkFlows() {
  for (uint32_t i = 0; i != condensed.items()->size(); ++i)
    if (Status s = checkItem(i); !s.ok())
      return s;
  for (const fb::Run *flow : *condensed.flows()) {
    uint64_t sum = 0;
    uint32_t last = 0;
    for (uint32_t i = flow->first(); i != flow->first() + flow->count(); ++i) {
      const fb::Item &entry = *condensed.items()->Get(i);
      sum = addBytes(
          sum, mulBytes(entry.count(), operationsOfSplits[entry.split()]));
      last = std::max(last, lastOfSplits[entry.split()]);
    }
    operations.push_back(sum);
    lastOfFlows.push_back(last);
  }
  return Status::success();
}

/// Messages go on from the lists' path.
Status CondensedChecker::checkLists(const Uints *lists) {
  for (uint32_t i = 0; i != sizeOf(lists); ++i) {
    if (lists->Get(i) >= condensed.lists()->size())
      return outOfRange("[" + std::to_string(i) + "]", lists->Get(i),
                        condensed.lists()->size());
    if (Status s = charge(condensed.lists()->Get(lists->Get(i))->count(),
                          sizeof(uint32_t));
        !s.ok())
      return s;
  }
  return Status::success();
}

/// Messages go on from the program's path.
Status CondensedChecker::checkSteps(const fb::Program &program) {
  uint32_t last = 0;
  for (uint32_t i = 0; i != sizeOf(program.steps()); ++i) {
    const uint32_t flow = program.steps()->Get(i)->flow();
    if (flow >= operations.size())
      return outOfRange(".steps[" + std::to_string(i) + "].flow", flow,
                        operations.size());
    if (Status s = charge(operations[flow], sizeof(fb::Op)); !s.ok())
      return s;
    last = std::max(last, lastOfFlows[flow]);
  }
  return sizeOf(program.steps())
             ? charge(uint64_t{last} + 1, sizeof(fb::RoundT))
             : Status::success();
}

/// Messages go on from the program's path.
Status CondensedChecker::checkProgram(const fb::Program &program) {
  if (sizeOf(program.steps()) && program.rounds()->size())
    return malformed(".rounds: a program with steps has none");
  for (auto [name, lists, shards] :
       {std::tuple(".prev_", program.prev_lists(), program.prev_shards()),
        std::tuple(".curr_", program.curr_lists(), program.curr_shards())}) {
    if (Status s = checkLists(lists); !s.ok())
      return under(std::string(name) + "lists", s);
    if (sizeOf(lists) && shards->size())
      return malformed(name, "shards: a program with lists has none");
  }
  if (Status s = chargeProgram(program); !s.ok())
    return s;
  return checkSteps(program);
}

Status CondensedChecker::run() {
  auto templated = checkTemplates(plan, budget);
  if (!templated)
    return templated.status();
  tensors = std::move(*templated);
  if (Status s = chargeLists(); !s.ok())
    return s;
  for (auto [name, runs, end] :
       {std::tuple("flows", condensed.flows(), condensed.items()->size()),
        std::tuple("splits", condensed.splits(), condensed.pieces()->size()),
        std::tuple("cuts", condensed.cuts(), condensed.rounds()->size()),
        std::tuple("lists", condensed.lists(), condensed.shards()->size())})
    if (Status s = checkRuns(name, *runs, end); !s.ok())
      return s;
  if (Status s = checkShardBoxes(); !s.ok())
    return s;
  if (Status s = checkRounds(); !s.ok())
    return s;
  if (Status s = checkSplits(); !s.ok())
    return s;
  if (Status s = checkFlows(); !s.ok())
    return s;
  for (uint32_t i = 0; i != condensed.shards()->size(); ++i)
    if (condensed.shards()->Get(i) >= plan.shards()->size())
      return outOfRange(item("condensed.shards", i), condensed.shards()->Get(i),
                        plan.shards()->size());
  for (uint32_t p = 0; p != plan.programs()->size(); ++p)
    if (Status s = checkProgram(*plan.programs()->Get(p)); !s.ok())
      return budget.check().ok() ? under(item("programs", p), s)
                                 : budget.check();
  return Status::success();
}

Status etc::plan::checkCondensed(const fb::Plan &plan, uint64_t fileBytes) {
  return CondensedChecker(plan, fileBytes).run();
}
