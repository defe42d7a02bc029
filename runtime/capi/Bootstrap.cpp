#include "capi/Bootstrap.h"

#include "core/engine/Peers.h"
#include "core/net/OwnAddress.h"
#include "core/plan/Fingerprint.h"
#include "core/transport/HostPath.h"
#include "core/transport/NcclTransport.h"
#include "core/transport/TcpTransport.h"
#include "job/Excluded.h"
#include "job/ListeningTime.h"
#include "job/PeerControl.h"
#include "recovery/RecoveryMember.h"

#include <algorithm>
#include <sstream>
#include <thread>

using namespace etc::runtime;

namespace {

class CallerStore final : public Rendezvous {
public:
  CallerStore(const etc_store &store, std::string tag, etc_set_first setFirst)
      : store(store), tag(std::move(tag)), setFirst(setFirst) {}

  Status put(const std::string &key, const std::string &value) override {
    const std::string full = tag + "/" + key;
    return takeError(
        store.set(store.context, full.c_str(), value.data(), value.size()));
  }

  Result<std::string> putFirst(const std::string &key,
                               const std::string &value) override {
    if (!setFirst)
      return Status(ErrorKind::Usage, "the store has no set_first");
    const std::string full = tag + "/" + key;
    etc_value first;
    Status status = takeError(setFirst(store.context, full.c_str(),
                                       value.data(), value.size(), &first));
    return status.ok() ? Result<std::string>(std::move(first.bytes))
                       : Result<std::string>(status);
  }

  Result<std::string> get(const std::string &key,
                          const Deadline &deadline) override {
    const std::string full = tag + "/" + key;
    etc_value value;
    Status status = takeError(store.get(
        store.context, full.c_str(), deadline.left().count() / 1000.0, &value));
    return status.ok() ? Result<std::string>(std::move(value.bytes))
                       : Result<std::string>(status);
  }

  std::string placeOf(const std::string &key) const override {
    return text("the store's key ", tag, "/", key);
  }

private:
  const etc_store store;
  const std::string tag;
  const etc_set_first setFirst;
};

std::vector<uint32_t> devicesOf(const OpenPlan &plan) {
  return plan.index().participants();
}

/// Stands before the reason why a participant cannot do what the others are
/// about to do.
const std::string kUnable = "unable: ";

/// What a participant is about to do, in words.
std::string describeIntent(const OpenPlan &plan,
                           const BootstrapOptions &options) {
  std::ostringstream intent;
  intent << std::hex << etc::plan::fingerprint(plan.index()) << std::dec
         << " of " << plan.index().rankCount() << " participants, "
         << (options.mode == ETC_SAFE ? "safe" : "eager")
         << (options.transport == ETC_NCCL ? " mode, on GPUs"
                                           : " mode, in host memory");
  return intent.str();
}

/// What a participant leaves for the others.
struct Intent {
  std::string words; // or why it is unable
  uint64_t tailRate = 0;
  uint64_t process = processNumber();
};

std::string pack(uint32_t generation, const Intent &intent) {
  return text(generation, " ", intent.tailRate, " ", intent.process, " ",
              intent.words);
}

} // namespace

std::unique_ptr<Rendezvous> etc::runtime::makeStore(const etc_store &store,
                                                    std::string tag,
                                                    etc_set_first setFirst) {
  return std::make_unique<CallerStore>(store, std::move(tag), setFirst);
}

/// What a participant left, of this change: what an earlier one left under the
/// same key is waited for to be replaced.
static Result<Intent> awaitIntent(const BootstrapOptions &options,
                                  uint32_t rank, ChangeRendezvous &rendezvous,
                                  const Deadline &deadline) {
  while (true) {
    Result<std::string> theirs = rendezvous.get(text("plan/", rank), deadline);
    if (!theirs)
      return theirs.status();
    uint32_t change = 0;
    Intent intent;
    std::istringstream in(*theirs);
    in >> change >> intent.tailRate >> intent.process;
    std::getline(in >> std::ws, intent.words, '\0');
    if (change == options.generation)
      return intent;
    if (change > options.generation)
      return excluded(options.generation, change);
    if (deadline.isOver())
      return Status(ErrorKind::Peer, text("still at change ", change));
    std::this_thread::sleep_for(Milliseconds(20));
    if (Status s = rendezvous.check(); !s.ok())
      return s;
  }
}

static Status compareWith(const OpenPlan &plan, const BootstrapOptions &options,
                          uint32_t rank, const std::string &mine,
                          const std::string &theirs) {
  const std::string who =
      text("participant ", rank, " (device ", plan.index().device(rank), ")");
  if (theirs.starts_with(kUnable))
    return Status(ErrorKind::Usage, text(who, " cannot take part: ",
                                         theirs.substr(kUnable.size())));
  if (theirs != mine)
    return Status(ErrorKind::Usage,
                  text("participants have different plans, modes or memory: "
                       "participant ",
                       rank, " has ", theirs, "; this one, ", options.rank,
                       ", has ", mine));
  return Status::success();
}

/// Whether this process is the last one that said what its participant is about
/// to do. Of two, the one that came first learns it.
static Status checkAlone(const OpenPlan &plan, const BootstrapOptions &options,
                         ChangeRendezvous &rendezvous) {
  Result<Intent> mine =
      awaitIntent(options, options.rank, rendezvous, Deadline(Milliseconds(1)));
  if (!mine || mine->process == processNumber())
    return Status::success();
  Status twice(ErrorKind::Usage,
               text("two processes are participant ", options.rank, " (device ",
                    plan.index().device(options.rank),
                    "); each device has one"));
  rendezvous.refuse(twice.message());
  return twice;
}

Result<uint64_t> etc::runtime::comparePlans(const OpenPlan &plan,
                                            const BootstrapOptions &options,
                                            ChangeRendezvous &rendezvous,
                                            const Deadline &deadline) {
  const std::string mine = describeIntent(plan, options);
  Status able = findOwnAddress(options.host).status();
  if (Status s = rendezvous.put(
          text("plan/", options.rank),
          pack(options.generation, {able.ok() ? mine : kUnable + able.message(),
                                    options.tailRate}));
      !s.ok())
    return s;
  if (!able.ok())
    return able;
  // Who was given up before it came need not wait.
  if (Status s = rendezvous.check(); !s.ok())
    return s;
  uint64_t slowest = options.tailRate;
  for (uint32_t rank = 0; rank != plan.index().rankCount(); ++rank) {
    if (rank == options.rank)
      continue;
    Result<Intent> theirs = awaitIntent(options, rank, rendezvous, deadline);
    if (!theirs && deadline.isOver()) {
      // Another one may have missed it a moment before.
      if (Status s = rendezvous.check(); !s.ok())
        return s;
      if (Status s = checkAlone(plan, options, rendezvous); !s.ok())
        return s;
      Status missing =
          theirs.status().at(text("participant ", rank, " (device ",
                                  plan.index().device(rank), ") is not there"));
      rendezvous.refuse(missing.message(), rank);
      return missing;
    }
    if (!theirs)
      return theirs.status();
    if (Status s = compareWith(plan, options, rank, mine, theirs->words);
        !s.ok())
      return s;
    if (theirs->tailRate != 0)
      slowest =
          slowest == 0 ? theirs->tailRate : std::min(slowest, theirs->tailRate);
  }
  if (Status s = checkAlone(plan, options, rendezvous); !s.ok())
    return s;
  return slowest;
}

static Result<std::unique_ptr<Control>>
connectControl(const OpenPlan &plan, const BootstrapOptions &options,
               ChangeRendezvous &rendezvous, const Deadline &deadline) {
  PeerControlOptions control;
  control.rank = options.rank;
  control.devices = devicesOf(plan);
  control.peers = findPeers(plan.index(), options.rank).all();
  control.host = options.host;
  control.deadline = deadline;
  control.generation = options.generation;
  control.beat = kBeatTime;
  control.silence = options.silence;
  control.rendezvous = &rendezvous;
  control.check = [&] { return rendezvous.check(); };
  return connectPeerControl(control);
}

static std::unique_ptr<Transport> overTcp(const OpenPlan &plan,
                                          const BootstrapOptions &options,
                                          Control &control) {
  TcpOptions tcp;
  tcp.rank = options.rank;
  tcp.devices = devicesOf(plan);
  tcp.host = options.host;
  tcp.isEncrypted = options.isEncrypted;
  tcp.control = &control;
  return makeTcpTransport(tcp);
}

static Result<std::unique_ptr<Transport>>
connectTransport(const OpenPlan &plan, const BootstrapOptions &options,
                 Control &control, const Deadline &deadline) {
  if (options.transport == ETC_NCCL) {
    NcclOptions nccl;
    nccl.rank = options.rank;
    nccl.devices = devicesOf(plan);
    nccl.ordinal = options.gpu;
    nccl.deadline = deadline;
    nccl.timeout = options.timeout;
    nccl.control = &control;
    if (nccl.rank == 0)
      nccl.traffic = trafficOf(plan.index());
    return connectNccl(nccl);
  }
  return overTcp(plan, options, control);
}

/// A kernel of NCCL's that waits for a peer may be queued behind training's on
/// one device and before them on another.
static Result<std::unique_ptr<Transport>>
connectTail(const OpenPlan &plan, const BootstrapOptions &options,
            Control &control) {
  if (options.transport != ETC_NCCL || !plan.index().hasTail())
    return std::unique_ptr<Transport>();
  return makeHostPath(overTcp(plan, options, control), options.gpu);
}

Result<Connections> etc::runtime::connect(const OpenPlan &plan,
                                          const BootstrapOptions &options,
                                          ChangeRendezvous &rendezvous,
                                          const Deadline &deadline) {
  auto control = connectControl(plan, options, rendezvous, deadline);
  if (!control)
    return control.status();
  auto transport = connectTransport(plan, options, **control, deadline);
  if (!transport)
    return giveUp(**control, plan.index().device(options.rank),
                  transport.status());
  auto tail = connectTail(plan, options, **control);
  if (!tail)
    return giveUp(**control, plan.index().device(options.rank), tail.status());
  return Connections{std::move(*control), std::move(*transport),
                     std::move(*tail)};
}
