#include "core/plan/Fingerprint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string_view>

using namespace etc;
using namespace etc::plan;

namespace {

/// Numbers in order, and their hash.
class Words {
public:
  void add(uint64_t word) { words.push_back(word); }
  void add(std::string_view text) {
    add(XXH3_64bits(text.data(), text.size()));
  }
  void add(const flatbuffers::String *text) { add(text->string_view()); }
  /// A list, and that it is absent.
  template <typename T> void add(const flatbuffers::Vector<T> *list) {
    add(list ? list->size() + uint64_t{1} : 0);
    if (list)
      for (T value : *list)
        add(static_cast<uint64_t>(value));
  }
  void add(const std::vector<uint32_t> &list) {
    add(list.size());
    words.insert(words.end(), list.begin(), list.end());
  }
  void add(BoxView box) {
    for (Span span : box) {
      add(static_cast<uint64_t>(span.begin));
      add(static_cast<uint64_t>(span.end));
    }
  }
  uint64_t hash() const {
    return XXH3_64bits(words.data(), words.size() * sizeof(uint64_t));
  }

private:
  std::vector<uint64_t> words;
};

/// Of a plan or a slice: what they have in common hashes alike.
class PlanHasher {
public:
  explicit PlanHasher(const PlanIndex &index) : index(index) {
    for (uint32_t t = 0; t != index.plan().tensors()->size(); ++t)
      tensors.push_back(hashTensor(t));
  }

  uint64_t hashHeader() const;
  uint64_t hashProgram(uint32_t program) const;
  /// What a device does that runs a program of this hash.
  uint64_t hashLeaf(Participant participant, uint64_t program) const;

private:
  uint64_t hashTensor(uint32_t tensor) const;
  void addName(Words &words, int32_t tensor) const;
  void addHoldings(Words &words, uint32_t program, Side side) const;
  void addOp(Words &words, const fb::Op &op) const;

  const PlanIndex &index;
  std::vector<uint64_t> tensors;
};

} // namespace

/// The number of a tensor is another in a slice; its name is the same.
void PlanHasher::addName(Words &words, int32_t tensor) const {
  if (tensor < 0)
    return words.add(uint64_t{0});
  words.add(index.tensor(tensor).name());
  words.add(index.tensor(tensor).type());
}

uint64_t PlanHasher::hashTensor(uint32_t number) const {
  const fb::Tensor &tensor = index.tensor(number);
  Words words;
  addName(words, static_cast<int32_t>(number));
  words.add(static_cast<uint64_t>(tensor.dtype()));
  words.add(tensor.shape());
  words.add(tensor.view());
  words.add(tensor.prev_shape());
  addName(words, tensor.tied_to());
  addName(words, tensor.derived_from());
  words.add(uint64_t{tensor.is_derived()});
  if (tensor.deferred())
    words.add(uint64_t{1});
  return words.hash();
}

void PlanHasher::addHoldings(Words &words, uint32_t program, Side side) const {
  words.add(index.holdings(program, side).size());
  for (Holding holding : index.holdings(program, side)) {
    words.add(tensors[holding.tensor]);
    words.add(index.boxCount(holding.shard));
    for (uint32_t box = 0; box != index.boxCount(holding.shard); ++box)
      words.add(index.shardBox(holding.shard, box));
  }
}

void PlanHasher::addOp(Words &words, const fb::Op &op) const {
  words.add(static_cast<uint64_t>(op.kind()) |
            (static_cast<uint64_t>(op.from_curr()) << 8) |
            (static_cast<uint64_t>(op.transit()) << 9) |
            (static_cast<uint64_t>(op.peer()) << 32));
  words.add(tensors[op.tensor()]);
  words.add(tensors[op.source()]);
  if (op.kind() != fb::OpKind::release)
    words.add(index.opBox(op));
}

static void addRole(Words &words, const fb::Role *role) {
  words.add(uint64_t{role != nullptr});
  if (!role)
    return;
  words.add(uint64_t{role->stage()});
  words.add(uint64_t{role->slot()});
  words.add(static_cast<uint64_t>(role->replica()));
}

uint64_t PlanHasher::hashProgram(uint32_t number) const {
  const fb::Program &program = index.program(number);
  Words words;
  addRole(words, program.curr_role());
  addRole(words, program.prev_role());
  for (uint64_t bytes : {program.send_slab(), program.recv_slab(),
                         program.peak(), program.peak_safe()})
    words.add(bytes);
  if (index.hasTail())
    for (uint64_t bytes : {program.tail_peak(), program.tail_peak_safe()})
      words.add(bytes);
  addHoldings(words, number, Side::Prev);
  addHoldings(words, number, Side::Curr);
  if (!index.holdings(number, Side::Transit).empty())
    addHoldings(words, number, Side::Transit);
  words.add(uint64_t{program.rounds()->size()});
  for (const fb::Round *round : *program.rounds()) {
    words.add(uint64_t{round->ops()->size()});
    for (const fb::Op *op : *round->ops())
      addOp(words, *op);
  }
  return words.hash();
}

uint64_t PlanHasher::hashLeaf(Participant participant, uint64_t hash) const {
  const fb::Program &program = index.program(participant.program);
  Words words;
  words.add(hash);
  words.add(uint64_t{program.devices()->Get(participant.replica)});
  words.add(uint64_t{program.peers()->size()});
  for (const fb::Peers *slot : *program.peers())
    words.add(uint64_t{slot->devices()->Get(participant.replica)});
  return words.hash();
}

static void addConfiguration(Words &words, const fb::Configuration &c) {
  for (uint64_t number :
       {uint64_t{c.pp()}, uint64_t{c.tp()}, uint64_t{c.dp()}, uint64_t{c.cp()},
        uint64_t{c.ep()}, uint64_t{c.etp()}, uint64_t{c.vpp()},
        static_cast<uint64_t>(c.order()), uint64_t{c.zero1()},
        c.bucket_elements(), static_cast<uint64_t>(c.mtp_stage()),
        uint64_t{c.inventory()}, uint64_t{c.fsdp()}})
    words.add(number);
  words.add(c.stages());
}

static void addSummary(Words &words, const fb::Summary &s) {
  for (uint64_t number :
       {s.moved_bytes(), s.kept_bytes(), s.zeroed_bytes(), s.derived_bytes(),
        s.internode_bytes(), s.max_send_bytes(), s.max_recv_bytes(),
        s.bound_moved_bytes(), s.bound_internode_bytes(),
        s.bound_bottleneck_bytes()})
    words.add(number);
  if (s.transit_bytes() > 0)
    words.add(s.transit_bytes());
  const fb::Volumes *paper = s.paper_policy();
  words.add(uint64_t{paper != nullptr});
  if (paper)
    for (uint64_t number : {paper->moved_bytes(), paper->internode_bytes(),
                            paper->max_recv_bytes()})
      words.add(number);
}

uint64_t PlanHasher::hashHeader() const {
  const fb::Plan &plan = index.plan();
  Words words;
  words.add(plan.model());
  addConfiguration(words, *plan.prev());
  addConfiguration(words, *plan.curr());
  words.add(plan.vocab());
  words.add(index.nodes());
  words.add(index.participants());
  for (const fb::RoundForecast *round : *plan.forecast()) {
    words.add(round->moved_bytes());
    words.add(round->max_port_bytes());
  }
  addSummary(words, *plan.summary());
  if (index.hasTail()) {
    words.add(uint64_t{plan.deferred_rounds()});
    words.add(uint64_t{plan.gradient_bytes()});
  }
  return words.hash();
}

/// What the bound of time rests on.
static void addResources(Words &words, const fb::Plan &plan) {
  if (const fb::Resources *resources = plan.resources()) {
    words.add(resources->name());
    for (uint64_t field :
         {uint64_t{resources->assumed()}, resources->link_rate(),
          resources->link_latency(), uint64_t{resources->nics()},
          resources->nic_rate(), resources->nic_latency(),
          resources->pack_rate(), uint64_t{resources->acknowledgements()}})
      words.add(field);
  }
  for (const fb::TimeBound *bound : {plan.time_bound(), plan.pause_bound()}) {
    if (!bound)
      continue;
    words.add(uint64_t{bound->outgoing()});
    words.add(bound->devices());
    words.add(bound->bytes());
    words.add(bound->rate());
    if (bound->inner())
      words.add(bound->inner());
    if (const fb::Tolls *tolls = bound->tolls())
      for (const auto *list : {tolls->links_out(), tolls->links_in(),
                               tolls->nics_out(), tolls->nics_in()})
        words.add(list);
  }
  if (const fb::RoleBound *bound = plan.role_bound()) {
    for (uint64_t field : {uint64_t{bound->of_nodes()},
                           static_cast<uint64_t>(bound->witness()) |
                               static_cast<uint64_t>(bound->place()) << 8,
                           bound->bytes(), bound->rate()})
      words.add(field);
    words.add(bound->inside());
    words.add(bound->row_duals());
    words.add(bound->column_duals());
  }
}

/// What no rank needs to run.
static uint64_t hashRest(const fb::Plan &plan) {
  Words words;
  words.add(plan.prev_placement());
  words.add(plan.curr_placement());
  words.add(plan.barred());
  if (plan.certificates())
    for (const fb::Certificate *certificate : *plan.certificates()) {
      for (uint64_t field : {static_cast<uint64_t>(certificate->quantity()),
                             static_cast<uint64_t>(certificate->scope()),
                             static_cast<uint64_t>(certificate->counted()),
                             uint64_t{certificate->covers_relays()},
                             uint64_t{certificate->covers_twins()},
                             uint64_t{certificate->covers_recomputation()},
                             certificate->bound()})
        words.add(field);
      words.add(certificate->row_duals());
      words.add(certificate->column_duals());
    }
  addResources(words, plan);
  return words.hash();
}

//===----------------------------------------------------------------------===//
// The tree
//===----------------------------------------------------------------------===//

static uint64_t join(uint64_t left, uint64_t right) {
  const uint64_t both[] = {left, right};
  return XXH3_64bits(both, sizeof both);
}

static uint64_t joinHeader(uint64_t header, uint64_t rest, uint64_t ranks) {
  return join(join(header, rest), ranks);
}

FingerprintTree::FingerprintTree(const PlanIndex &index)
    : rest_(hashRest(index.plan())) {
  const PlanHasher hasher(index);
  std::vector<uint64_t> programs;
  for (uint32_t program = 0; program != index.programCount(); ++program)
    programs.push_back(hasher.hashProgram(program));
  std::vector<uint64_t> level;
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    const Participant participant = index.participant(rank);
    level.push_back(
        hasher.hashLeaf(participant, programs[participant.program]));
  }
  while (level.size() > 1) {
    std::vector<uint64_t> above;
    // A hash without a neighbour goes up as it is.
    for (size_t i = 0; i < level.size(); i += 2)
      above.push_back(i + 1 < level.size() ? join(level[i], level[i + 1])
                                           : level[i]);
    levels_.push_back(std::move(level));
    level = std::move(above);
  }
  root_ = joinHeader(hasher.hashHeader(), rest_, level.front());
  levels_.push_back(std::move(level));
}

std::vector<uint64_t> FingerprintTree::path(uint32_t rank) const {
  std::vector<uint64_t> path;
  size_t at = rank;
  for (const std::vector<uint64_t> &level : levels_) {
    if (size_t beside = at ^ 1; beside < level.size())
      path.push_back(level[beside]);
    at /= 2;
  }
  return path;
}

uint64_t etc::plan::fingerprint(const PlanIndex &index) {
  const fb::Slice *slice = index.plan().slice();
  return slice ? slice->fingerprint() : FingerprintTree(index).root();
}

Status etc::plan::checkSlice(const PlanIndex &index) {
  const fb::Slice &slice = *index.plan().slice();
  const PlanHasher hasher(index);
  uint64_t hash =
      hasher.hashLeaf(index.participant(slice.rank()), hasher.hashProgram(0));
  uint32_t used = 0;
  size_t at = slice.rank();
  for (size_t size = index.rankCount(); size > 1; size = (size + 1) / 2) {
    if ((at ^ 1) < size) {
      if (used == slice.path()->size())
        return malformed("slice.path: ", used, " hashes do not reach the root");
      const uint64_t beside = slice.path()->Get(used++);
      hash = at % 2 ? join(beside, hash) : join(hash, beside);
    }
    at /= 2;
  }
  if (used != slice.path()->size())
    return malformed("slice.path: ", slice.path()->size(),
                     " hashes, the root "
                     "is reached by ",
                     used);
  if (joinHeader(hasher.hashHeader(), slice.rest(), hash) !=
      slice.fingerprint())
    return malformed("slice.fingerprint: the slice is not of this plan; take "
                     "it from the plan again with etc-opt --slice");
  return Status::success();
}
