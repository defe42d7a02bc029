#include "core/plan/CondenseShards.h"
#include "core/plan/CondensedLists.h"
#include "core/plan/Templates.h"

using namespace etc;
using namespace etc::plan;

namespace {

class CondensedChecker {
public:
  CondensedChecker(const fb::Plan &plan, const CondensedLists &condensed,
                   uint64_t fileBytes)
      : plan(plan), condensed(condensed), budget(fileBytes) {}

  Status run();

private:
  Status charge(uint64_t count, uint64_t size) {
    return budget.charge(count, size);
  }
  Status checkAbsence() const;
  Status chargeLists();
  Status chargeProgram(const fb::Program &program, const ProgramLists &lists);
  Status checkRuns(const char *name, const std::vector<fb::Run> &runs,
                   uint64_t end);
  Status checkShardBoxes();
  Status checkRounds();
  Status checkSplits();
  Status checkPiece(uint32_t number, const fb::Tensor &tensor);
  Status checkItem(uint32_t number);
  Status checkFlows();
  Status checkHeld(const std::vector<uint32_t> &lists);
  Status checkSteps(const std::vector<fb::Step> &steps);
  Status checkProgram(const fb::Program &program, const ProgramLists &lists);

  const fb::Plan &plan;
  const CondensedLists &condensed;
  TableBudget budget;
  std::vector<const fb::Tensor *> tensors; // as far as templates say
  std::vector<uint64_t> operationsOfSplits;
  std::vector<uint64_t> operations; // of each flow
  std::vector<uint32_t> lastRounds; // of each cut
  std::vector<uint32_t> lastOfSplits;
  std::vector<uint32_t> lastOfFlows;
};

} // namespace

/// Lists that are packed are nowhere else.
Status CondensedChecker::checkAbsence() const {
  for (auto [name, count] : {std::pair("shards", plan.shards()->size()),
                             std::pair("boxes", plan.boxes()->size()),
                             std::pair("bounds", plan.bounds()->size())})
    if (count)
      return malformed(name, ": a condensed plan has none but packed ones");
  for (uint32_t p = 0; p != plan.programs()->size(); ++p)
    if (plan.programs()->Get(p)->peers()->size())
      return malformed(item("programs", p),
                       ".peers: a condensed plan has none but packed ones");
  return Status::success();
}

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

Status CondensedChecker::chargeProgram(const fb::Program &program,
                                       const ProgramLists &lists) {
  uint64_t numbers =
      lists.peers.size() + lists.prev_lists.size() + lists.curr_lists.size();
  for (const Uints *list : {program.devices(), program.prev_shards(),
                            program.curr_shards(), program.transit_shards()})
    numbers += sizeOf(list);
  if (Status s = charge(1, sizeof(fb::ProgramT) + numbers * sizeof(uint32_t) +
                               lists.steps.size() * sizeof(fb::Step));
      !s.ok())
    return s;
  if (const uint32_t replicas = program.devices()->size())
    if (Status s = charge(lists.peers.size() / replicas, sizeof(fb::PeersT));
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
Status CondensedChecker::checkRuns(const char *name,
                                   const std::vector<fb::Run> &runs,
                                   uint64_t end) {
  for (size_t i = 0; i != runs.size(); ++i) {
    const fb::Run &run = runs[i];
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
  for (size_t i = 0; i != condensed.shards.size(); ++i) {
    const fb::Shard &shard = condensed.shards[i];
    const uint64_t next = uint64_t{shard.first_box()} + shard.box_count();
    if (next > condensed.boxes.size())
      return malformed(item("condensed.shards", i), ": boxes [",
                       shard.first_box(), ", ", next, ") are not in [0, ",
                       condensed.boxes.size(), ")");
    if (Status s = charge(shard.box_count(), sizeof(uint32_t)); !s.ok())
      return s;
    if (shard.box_count() <= kMostSharedBoxes)
      continue;
    if (shard.first_box() < end)
      return malformed(item("condensed.shards", i),
                       ".first_box: ", shard.first_box(),
                       ", the boxes of a shard before end at ", end);
    end = next;
  }
  return Status::success();
}

Status CondensedChecker::checkRounds() {
  for (const fb::Run &cut : condensed.cuts) {
    uint32_t last = 0;
    for (uint32_t i = cut.first(); i != cut.first() + cut.count(); ++i) {
      const uint32_t round = condensed.rounds[i];
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
  const std::vector<fb::Piece> &pieces = condensed.pieces;
  for (size_t i = 0; i != pieces.size(); ++i)
    if (pieces[i].cut() >= condensed.cuts.size())
      return outOfRange(item("condensed.pieces", i) + ".cut", pieces[i].cut(),
                        condensed.cuts.size());
  for (const fb::Run &split : condensed.splits) {
    uint64_t sum = 0;
    uint32_t last = 0;
    for (uint32_t i = split.first(); i != split.first() + split.count(); ++i) {
      const uint32_t cut = pieces[i].cut();
      sum = addBytes(sum, condensed.cuts[cut].count());
      last = std::max(last, lastRounds[cut]);
    }
    operationsOfSplits.push_back(sum);
    lastOfSplits.push_back(last);
  }
  return Status::success();
}

/// Boxes that are not cut are checked with their operations; a release has 0.
Status CondensedChecker::checkPiece(uint32_t number, const fb::Tensor &tensor) {
  const fb::Piece &piece = condensed.pieces[number];
  const uint32_t parts = condensed.cuts[piece.cut()].count();
  const uint64_t numbers = 2 * uint64_t{tensor.shape()->size()};
  if (Status s = charge(parts, numbers * sizeof(int64_t)); !s.ok())
    return s;
  const uint64_t end = piece.box() + numbers;
  if (end > condensed.bounds.size())
    return malformed(item("condensed.pieces", number), ".box: ends at ", end,
                     " of ", condensed.bounds.size());
  if (parts == 1)
    return Status::success();
  Status s = checkBox(condensed.bounds, piece.box(), tensor);
  return s.ok() ? s : under(item("condensed.pieces", number) + ".box", s);
}

Status CondensedChecker::checkItem(uint32_t number) {
  const fb::Item &entry = condensed.items[number];
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
  if (entry.split() >= condensed.splits.size())
    return outOfRange(path(".split"), entry.split(), condensed.splits.size());
  const fb::Run &split = condensed.splits[entry.split()];
  for (uint32_t t = 0; t != entry.count(); ++t)
    for (uint32_t i = split.first(); i != split.first() + split.count(); ++i)
      if (Status s = checkPiece(i, *tensors[entry.tensor() + t]); !s.ok())
        return s;
  return Status::success();
}

Status CondensedChecker::checkFlows() {
  for (uint32_t i = 0; i != condensed.items.size(); ++i)
    if (Status s = checkItem(i); !s.ok())
      return s;
  for (const fb::Run &flow : condensed.flows) {
    uint64_t sum = 0;
    uint32_t last = 0;
    for (uint32_t i = flow.first(); i != flow.first() + flow.count(); ++i) {
      const fb::Item &entry = condensed.items[i];
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
Status CondensedChecker::checkHeld(const std::vector<uint32_t> &lists) {
  for (size_t i = 0; i != lists.size(); ++i) {
    if (lists[i] >= condensed.lists.size())
      return outOfRange(item("", i), lists[i], condensed.lists.size());
    if (Status s = charge(condensed.lists[lists[i]].count(), sizeof(uint32_t));
        !s.ok())
      return s;
  }
  return Status::success();
}

/// Messages go on from the program's path.
Status CondensedChecker::checkSteps(const std::vector<fb::Step> &steps) {
  uint32_t last = 0;
  for (size_t i = 0; i != steps.size(); ++i) {
    const uint32_t flow = steps[i].flow();
    if (flow >= operations.size())
      return outOfRange(item(".steps", i) + ".flow", flow, operations.size());
    if (Status s = charge(operations[flow], sizeof(fb::Op)); !s.ok())
      return s;
    last = std::max(last, lastOfFlows[flow]);
  }
  return steps.empty() ? Status::success()
                       : charge(uint64_t{last} + 1, sizeof(fb::RoundT));
}

/// Messages go on from the program's path.
Status CondensedChecker::checkProgram(const fb::Program &program,
                                      const ProgramLists &lists) {
  if (!lists.steps.empty() && program.rounds()->size())
    return malformed(".rounds: a program with steps has none");
  for (auto [name, numbers, shards] :
       {std::tuple(".prev_", &lists.prev_lists, program.prev_shards()),
        std::tuple(".curr_", &lists.curr_lists, program.curr_shards())}) {
    if (Status s = checkHeld(*numbers); !s.ok())
      return under(std::string(name) + "lists", s);
    if (!numbers->empty() && shards->size())
      return malformed(name, "shards: a program with lists has none");
  }
  const uint32_t replicas = program.devices()->size();
  if (replicas ? lists.peers.size() % replicas : lists.peers.size())
    return malformed(".peers: ", lists.peers.size(), " devices for ", replicas,
                     " replicas");
  if (Status s = chargeProgram(program, lists); !s.ok())
    return s;
  return checkSteps(lists.steps);
}

Status CondensedChecker::run() {
  if (Status s = checkAbsence(); !s.ok())
    return s;
  auto templated = checkTemplates(plan, condensed, budget);
  if (!templated)
    return templated.status();
  tensors = std::move(*templated);
  if (Status s = chargeLists(); !s.ok())
    return s;
  for (auto [name, runs, end] :
       {std::tuple("flows", &condensed.flows, condensed.items.size()),
        std::tuple("splits", &condensed.splits, condensed.pieces.size()),
        std::tuple("cuts", &condensed.cuts, condensed.rounds.size()),
        std::tuple("lists", &condensed.lists, condensed.held.size())})
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
  for (size_t i = 0; i != condensed.held.size(); ++i)
    if (condensed.held[i] >= condensed.shards.size())
      return outOfRange(item("condensed.held", i), condensed.held[i],
                        condensed.shards.size());
  for (uint32_t p = 0; p != plan.programs()->size(); ++p)
    if (Status s =
            checkProgram(*plan.programs()->Get(p), condensed.programs[p]);
        !s.ok())
      return budget.check().ok() ? under(item("programs", p), s)
                                 : budget.check();
  return Status::success();
}

Status etc::plan::checkLists(const fb::Plan &plan, const CondensedLists &lists,
                             uint64_t fileBytes) {
  return CondensedChecker(plan, lists, fileBytes).run();
}
