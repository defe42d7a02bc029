#include "capi/Recovery.h"

#include "capi/CallerSource.h"
#include "core/plan/Fingerprint.h"
#include "state/checkpoint/Checkpoint.h"

#include <algorithm>

using namespace etc::runtime;

static Status refuse(const std::string &what) {
  return Status(ErrorKind::Usage, what);
}

Result<RecoveryOptions>
etc::runtime::checkOptions(const etc_recovery_options &given) {
  RecoveryOptions options;
  AgreementOptions &agreement = options.agreement;
  if (given.devices)
    agreement.expected.assign(given.devices,
                              given.devices + given.device_count);
  if (std::adjacent_find(agreement.expected.begin(), agreement.expected.end(),
                         std::greater_equal<>()) != agreement.expected.end())
    return refuse("devices: expected them in ascending order");
  if (!std::binary_search(agreement.expected.begin(), agreement.expected.end(),
                          given.device))
    return refuse(text("devices: this process's device ", given.device,
                       " is not among them"));
  if (given.transport != ETC_TCP && given.transport != ETC_NCCL)
    return refuse(
        text("transport ", given.transport, ": expected ETC_TCP or ETC_NCCL"));
  options.transport = given.transport;
  options.gpu = static_cast<unsigned>(std::max(given.gpu, 0));
  auto patience = readTime("patience_seconds", given.patience_seconds, 10);
  auto timeout = readTime("timeout_seconds", given.timeout_seconds, 300);
  if (!patience || !timeout)
    return (patience ? timeout : patience).status();
  options.store =
      given.store.set && given.store.get ? given.store : etc_store{};
  if (options.store.set ? !given.set_first : !given.directory)
    return refuse("processes have no way to find each other: set store and "
                  "set_first, or directory");
  agreement.self.device = given.device;
  agreement.self.process = processNumber();
  agreement.self.version = given.version;
  agreement.generation = given.generation;
  agreement.patience = *patience;
  options.timeout = *timeout;
  options.setFirst = given.set_first;
  options.directory = given.directory ? given.directory : "";
  options.tag = given.tag ? given.tag : "etc";
  options.restoreFrom = given.restore_from ? given.restore_from : "";
  options.restoreVersion = given.restore_version;
  const bool isReader = given.restore.check && given.restore.read;
  options.restore = isReader ? given.restore : etc_box_source{};
  if (isReader && !options.restoreFrom.empty())
    return refuse("restore_from and restore: expected one of them");
  return options;
}

Result<std::unique_ptr<Recovery>> Recovery::create(RecoveryOptions options) {
  std::unique_ptr<Recovery> made(new Recovery(std::move(options)));
  const RecoveryOptions &own = made->options;
  const cuda::KeptContext kept(driverOf(own.transport));
  auto worker = makeWorker(own.transport, own.gpu);
  if (!worker)
    return worker.status();
  made->worker = std::move(*worker);
  made->meeting =
      own.store.set
          ? makeStore(own.store, own.tag, own.setFirst)
          : makeDirectoryRendezvous(own.directory, own.tag, made->isStopped);
  if (own.restore.check)
    made->checkpoint = makeCallerSource(own.restore);
  if (own.restoreFrom.empty())
    return made;
  Result<Checkpoint> opened = Checkpoint::open(own.restoreFrom);
  if (!opened)
    return opened.status();
  made->checkpoint = std::make_unique<Checkpoint>(std::move(*opened));
  return made;
}

Recovery::~Recovery() { leaving.note(driverOf(options.transport)); }

Status Recovery::add(Base base) {
  const PlanIndex &index = base.plan->index();
  const uint32_t device = options.agreement.self.device;
  if (index.plan().slice())
    return refuse("recovery needs the whole plan, not a slice");
  if (!index.rankOf(device))
    return refuse(text("device ", device, " takes no part in this plan"));
  if (bases.size() == kMostClaims)
    return refuse(
        text("at most ", kMostClaims, " plans say what a process holds"));
  options.agreement.self.claims.push_back(
      {etc::plan::fingerprint(index), base.standing});
  bases.push_back(std::move(base));
  return Status::success();
}

Status Recovery::hold(std::shared_ptr<const OpenPlan> plan, Side side) {
  const std::optional<uint32_t> rank =
      plan->index().rankOf(options.agreement.self.device);
  Standing standing;
  if (rank && !plan->plan().slice())
    standing = standingAt(plan->index(), *rank, side);
  return add({std::move(plan), standing, nullptr, {}});
}

Status Recovery::hold(Migration &migration) {
  if (migration.isOnHost() != worker->isHost())
    return refuse(migration.isOnHost()
                      ? "the migration's state is in host memory, and the "
                        "recovery's transport is ETC_NCCL"
                      : "the migration's state is in a GPU's memory; set the "
                        "recovery's transport to ETC_NCCL");
  if (!migration.isOnHost() && migration.gpu() != options.gpu)
    return refuse(text("the migration's state is on GPU ", migration.gpu(),
                       ", the recovery's on GPU ", options.gpu));
  if (migration.outcome() == ETC_UNREADABLE)
    return refuse("what the GPU holds cannot be read, since operations on it "
                  "did not complete: end this process");
  if (migration.isAtTail())
    return refuse("the migration's deferred part still runs: finish it first");
  migration.tidy();
  return add({migration.openPlan(), migration.standing(), &migration, {}});
}

static std::optional<uint32_t> findTensor(const PlanIndex &index,
                                          const char *type, const char *name) {
  for (uint32_t t = 0; t != index.plan().tensors()->size(); ++t)
    if (index.tensor(t).name()->string_view() == name &&
        index.tensor(t).type()->string_view() == type)
      return t;
  return std::nullopt;
}

Status Recovery::registerTensor(const char *type, const char *name,
                                const void *data) {
  if (bases.empty() || bases.back().migration)
    return refuse("register: no plan says what this process holds");
  std::optional<uint32_t> tensor =
      findTensor(bases.back().plan->index(), type, name);
  if (!tensor)
    return refuse(text(name, " (", type, "): the plan has no such tensor"));
  bases.back().memory[*tensor] = static_cast<const std::byte *>(data);
  return Status::success();
}

const Recovery::Base *Recovery::findBase(uint64_t plan) const {
  for (size_t i = 0; i != bases.size(); ++i)
    if (options.agreement.self.claims[i].plan == plan)
      return &bases[i];
  return nullptr;
}

std::optional<VersionedCheckpoint> Recovery::versioned() const {
  if (!checkpoint)
    return std::nullopt;
  return VersionedCheckpoint{checkpoint.get(), options.restoreVersion};
}

Status
Recovery::checkMembers(const std::vector<RecoveryMember> &members) const {
  Result<uint64_t> plan = findCommonPlan(members);
  if (!plan)
    return plan.status();
  const Base *base = findBase(*plan);
  return runtime::survey(base->plan->index(), *plan, members, versioned())
      .status();
}

Status Recovery::agree() {
  AgreementOptions &agreement = options.agreement;
  agreement.deadline = Deadline(options.timeout);
  agreement.rendezvous = meeting.get();
  agreement.check = [this](const std::vector<RecoveryMember> &members) {
    return checkMembers(members);
  };
  Result<Agreement> made = runtime::agree(agreement);
  if (!made)
    return made.status();
  agreement_ = std::move(*made);
  for (const RecoveryMember &member : agreement_.members)
    devices_.push_back(member.device);
  Result<uint64_t> plan = findCommonPlan(agreement_.members);
  if (!plan)
    return plan.status();
  common = findBase(*plan);
  if (!common)
    return Status::success();
  Result<Survey> found = runtime::survey(common->plan->index(), *plan,
                                         agreement_.members, versioned());
  if (!found)
    return found.status();
  survey_ = std::move(*found);
  return Status::success();
}

int Recovery::base() const {
  return common ? static_cast<int>(common - bases.data()) : -1;
}

uint64_t Recovery::restoredBytes() const {
  uint64_t bytes = 0;
  for (const TensorBox &box : survey_->restored)
    bytes += volume(box.box) * common->plan->index().elementBytes(box.tensor);
  return bytes;
}

Result<const char *> Recovery::inventory() {
  if (!survey_)
    return refuse("inventory: this process has no plan that says what the "
                  "others hold");
  json = formatInventory(common->plan->index(), survey_->inventory,
                         survey_->side == Side::Curr ? Shapes::Curr
                                                     : Shapes::Both);
  return json.c_str();
}

HeldMemory Recovery::held() const {
  HeldMemory held;
  held.index = common ? &common->plan->index() : nullptr;
  if (!common)
    return held;
  const uint32_t rank = *held.index->rankOf(options.agreement.self.device);
  if (!survey_->survivors[rank])
    return held;
  held.shards = heldShards(*held.index, held.index->participant(rank).program,
                           common->standing);
  held.find = [base = common](const HeldShard &shard) -> const std::byte * {
    if (base->migration)
      return base->migration->find(shard);
    const auto found = base->memory.find(shard.tensor);
    return found == base->memory.end() ? nullptr : found->second;
  };
  // Tensors that were not registered are not there.
  std::erase_if(held.shards, [&](const HeldShard &shard) {
    return !held.find(shard) && held.index->shardBytes(shard.shard) > 0;
  });
  return held;
}

namespace {

/// A previous tensor of a plan.
struct Wanted {
  uint32_t tensor, shard;
};

} // namespace

static Result<Wanted> findPrevious(const OpenPlan &next, uint32_t device,
                                   const char *type, const char *name) {
  const PlanIndex &index = next.index();
  const std::optional<uint32_t> rank = index.rankOf(device);
  const std::optional<uint32_t> tensor = findTensor(index, type, name);
  if (rank && tensor && index.hasProgramOf(*rank)) {
    const uint32_t program = index.participant(*rank).program;
    if (auto position = index.find(program, Side::Prev, *tensor))
      return Wanted{*tensor,
                    index.holdings(program, Side::Prev)[*position].shard};
  }
  return refuse(text(name, " (", type, "): device ", device,
                     " holds no such tensor before the migration"));
}

Result<const void *> Recovery::find(const OpenPlan &next, const char *type,
                                    const char *name) const {
  Result<Wanted> wanted =
      findPrevious(next, options.agreement.self.device, type, name);
  if (!wanted)
    return wanted.status();
  return static_cast<const void *>(
      findWhole(held(), next.index(), wanted->tensor, wanted->shard));
}

Status Recovery::fill(const OpenPlan &next, const char *type, const char *name,
                      void *data) const {
  Result<Wanted> wanted =
      findPrevious(next, options.agreement.self.device, type, name);
  if (!wanted)
    return wanted.status();
  const cuda::KeptContext kept(driverOf(options.transport));
  const PlanIndex &index = next.index();
  const HeldMemory own = held();
  const bool mayRestore =
      checkpoint && survey_ && survey_->version == options.restoreVersion;
  auto *at = static_cast<std::byte *>(data);
  for (uint32_t b = 0; b != index.boxCount(wanted->shard); ++b) {
    const BoxView box = index.shardBox(wanted->shard, b);
    Result<uint64_t> restored =
        refill(own, mayRestore ? checkpoint.get() : nullptr, index,
               wanted->tensor, {at, box}, *worker);
    if (!restored)
      return restored.status();
    at += volume(box) * index.elementBytes(wanted->tensor);
  }
  return Status::success();
}
