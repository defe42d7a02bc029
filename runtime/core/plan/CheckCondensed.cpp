#include "core/plan/Condense.h"
#include "core/plan/FormatRules.h"

using namespace etc;
using namespace etc::plan;

/// Bytes of tables that a byte of a file may state: far more than it does in
/// any plan, and little enough for a reader's memory.
constexpr uint64_t kMostPerByte = 256;
/// What an expanded plan may take in all, as FlatBuffers have it.
constexpr uint64_t kMostBytes = FLATBUFFERS_MAX_BUFFER_SIZE / 2;

namespace {

class CondensedChecker {
public:
  CondensedChecker(const fb::Plan &plan, uint64_t fileBytes)
      : plan(plan), condensed(*plan.condensed()),
        most(std::min(mulBytes(fileBytes, kMostPerByte), kMostBytes)) {}

  Status run();

private:
  Status charge(uint64_t count, uint64_t size);
  Status chargeTensors();
  Status chargeProgram(const fb::Program &program);
  Status checkRuns(const char *name,
                   const flatbuffers::Vector<const fb::Run *> &runs,
                   uint64_t end);
  Status checkRounds();
  Status checkBoxes(const fb::Item &item);
  Status checkItem(const fb::Item &item);
  Status checkFlows();
  Status checkLists(const Uints *lists);
  Status checkSteps(const fb::Program &program);
  Status checkProgram(const fb::Program &program);

  const fb::Plan &plan;
  const fb::Condensed &condensed;
  const uint64_t most;
  uint64_t stated = 0;               // bytes of tables
  std::vector<uint64_t> operations;  // of each flow
  std::vector<uint32_t> lastRounds;  // of each cut
  std::vector<uint32_t> lastOfFlows; // rounds
};

} // namespace

/// Counts `count` entries of `size` bytes, which the reader makes or looks at.
Status CondensedChecker::charge(uint64_t count, uint64_t size) {
  stated = addBytes(stated, mulBytes(count, size));
  return stated <= most
             ? Status::success()
             : malformed("condensed: states more than ", most,
                         " bytes of tables, which is the most for this file");
}

template <typename Vector> static uint64_t sizeOf(const Vector *vector) {
  return vector ? vector->size() : 0;
}

/// A file may refer to one name or list any number of times.
Status CondensedChecker::chargeTensors() {
  for (const fb::Tensor *tensor : *plan.tensors()) {
    const uint64_t numbers = sizeOf(tensor->shape()) + sizeOf(tensor->view()) +
                             sizeOf(tensor->prev_shape());
    if (Status s =
            charge(1, sizeof(fb::TensorT) + sizeOf(tensor->name()) +
                          sizeOf(tensor->type()) + numbers * sizeof(int64_t));
        !s.ok())
      return s;
  }
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

/// Messages go on from the item's path.
Status CondensedChecker::checkBoxes(const fb::Item &item) {
  // Boxes that are not cut are checked with their operations; a release has 0.
  const uint32_t parts = condensed.cuts()->Get(item.cut())->count();
  for (uint32_t i = 0; i != item.count(); ++i) {
    const uint32_t tensor = item.tensor() + i;
    const uint64_t numbers =
        2 * uint64_t{plan.tensors()->Get(tensor)->shape()->size()};
    if (Status s = charge(parts, numbers * sizeof(int64_t)); !s.ok())
      return s;
    const uint64_t end = item.box() + numbers;
    if (end > plan.bounds()->size())
      return malformed(".box: ends at ", end, " of ", plan.bounds()->size());
    if (parts == 1)
      continue;
    if (Status s = checkBox(plan, item.box(), tensor); !s.ok())
      return under(".box", s);
  }
  return Status::success();
}

/// Messages go on from the item's path.
Status CondensedChecker::checkItem(const fb::Item &item) {
  const uint32_t tensors = plan.tensors()->size();
  if (item.count() == 0)
    return malformed(".count: 0 is not at least 1");
  for (auto [name, first] : {std::pair(".tensor", item.tensor()),
                             std::pair(".source", item.source())})
    if (uint64_t{first} + item.count() > tensors)
      return malformed(name, ": ", item.count(), " from ", first, " on, of ",
                       tensors);
  if (item.cut() >= condensed.cuts()->size())
    return outOfRange(".cut", item.cut(), condensed.cuts()->size());
  return checkBoxes(item);
}

Status CondensedChecker::checkFlows() {
  for (uint32_t i = 0; i != condensed.items()->size(); ++i)
    if (Status s = checkItem(*condensed.items()->Get(i)); !s.ok())
      return under(item("condensed.items", i), s);
  for (const fb::Run *flow : *condensed.flows()) {
    uint64_t sum = 0;
    uint32_t last = 0;
    for (uint32_t i = flow->first(); i != flow->first() + flow->count(); ++i) {
      const fb::Item &entry = *condensed.items()->Get(i);
      sum =
          addBytes(sum, mulBytes(entry.count(),
                                 condensed.cuts()->Get(entry.cut())->count()));
      last = std::max(last, lastRounds[entry.cut()]);
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
  if (Status s = checkTensors(plan); !s.ok())
    return s;
  if (Status s = chargeTensors(); !s.ok())
    return s;
  for (auto [name, runs, end] :
       {std::tuple("flows", condensed.flows(), condensed.items()->size()),
        std::tuple("cuts", condensed.cuts(), condensed.rounds()->size()),
        std::tuple("lists", condensed.lists(), condensed.shards()->size())})
    if (Status s = checkRuns(name, *runs, end); !s.ok())
      return s;
  if (Status s = checkRounds(); !s.ok())
    return s;
  if (Status s = checkFlows(); !s.ok())
    return s;
  for (uint32_t i = 0; i != condensed.shards()->size(); ++i)
    if (condensed.shards()->Get(i) >= plan.shards()->size())
      return outOfRange(item("condensed.shards", i), condensed.shards()->Get(i),
                        plan.shards()->size());
  for (uint32_t p = 0; p != plan.programs()->size(); ++p)
    if (Status s = checkProgram(*plan.programs()->Get(p)); !s.ok())
      return under(item("programs", p), s);
  return Status::success();
}

Status etc::plan::checkCondensed(const fb::Plan &plan, uint64_t fileBytes) {
  return CondensedChecker(plan, fileBytes).run();
}
