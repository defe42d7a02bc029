#include "capi/Bootstrap.h"

#include "engine/Peers.h"
#include "job/PeerControl.h"
#include "transport/GlooTransport.h"
#include "transport/NcclTransport.h"
#include "transport/OwnAddress.h"

#include <algorithm>
#include <sstream>
#include <thread>

using namespace etc::runtime;

namespace {

class CallerStore final : public Rendezvous {
public:
  CallerStore(const etc_store &store, std::string tag)
      : store(store), tag(std::move(tag)) {}

  Status put(const std::string &key, const std::string &value) override {
    const std::string full = tag + "/" + key;
    return takeError(
        store.set(store.context, full.c_str(), value.data(), value.size()));
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

private:
  const etc_store store;
  const std::string tag;
};

std::vector<uint32_t> devicesOf(const OpenPlan &plan) {
  const auto &participants = *plan.plan().participants();
  return {participants.begin(), participants.end()};
}

/// Between two signs of life.
constexpr Milliseconds kBeat{250};

/// Stands before the reason why a participant cannot do what the others are
/// about to do.
const std::string kUnable = "unable: ";

/// What a participant is about to do, in words.
std::string describeIntent(const OpenPlan &plan, etc_mode mode) {
  std::ostringstream intent;
  intent << std::hex << plan.plan().hash() << std::dec << " of "
         << plan.index().rankCount() << " participants, "
         << (mode == ETC_SAFE ? "safe" : "eager");
  return intent.str();
}

} // namespace

std::unique_ptr<Rendezvous> etc::runtime::makeStore(const etc_store &store,
                                                    std::string tag) {
  return std::make_unique<CallerStore>(store, std::move(tag));
}

Status etc::runtime::comparePlans(const OpenPlan &plan,
                                  const BootstrapOptions &options,
                                  Rendezvous &store, const Deadline &deadline) {
  const std::string mine = describeIntent(plan, options.mode);
  const Status able = findOwnAddress(options.host).status();
  if (Status s = store.put(text("plan/", options.rank),
                           able.ok() ? mine : kUnable + able.message());
      !s.ok())
    return s;
  if (!able.ok())
    return able;
  for (uint32_t rank = 0; rank != plan.index().rankCount(); ++rank) {
    Result<std::string> theirs = store.get(text("plan/", rank), deadline);
    if (!theirs)
      return theirs.status().at(text("participant ", rank, " (device ",
                                     plan.index().device(rank),
                                     ") is not there"));
    if (theirs->starts_with(kUnable))
      return Status(
          ErrorKind::Usage,
          text("participant ", rank, " (device ", plan.index().device(rank),
               ") cannot take part: ", theirs->substr(kUnable.size())));
    if (*theirs != mine)
      return Status(ErrorKind::Usage,
                    text("participants have different plans: participant ",
                         rank, " has ", *theirs, " mode; this one, ",
                         options.rank, ", has ", mine, " mode"));
  }
  return Status::success();
}

static Result<std::unique_ptr<Control>>
connectControl(const OpenPlan &plan, const BootstrapOptions &options,
               Rendezvous &store, const std::atomic<bool> &isStopped,
               const Deadline &deadline) {
  PeerControlOptions control;
  control.rank = options.rank;
  control.devices = devicesOf(plan);
  control.peers = findPeers(plan.index(), options.rank).all();
  control.host = options.host;
  control.deadline = deadline;
  control.generation = options.generation;
  control.beat = kBeat;
  control.silence = options.silence;
  control.rendezvous = &store;
  control.check = [&] {
    return isStopped
               ? Status(ErrorKind::Peer, "stopped, since another device failed")
               : Status::success();
  };
  return connectPeerControl(control);
}

static Result<std::unique_ptr<Transport>>
connectTransport(const OpenPlan &plan, const BootstrapOptions &options,
                 Rendezvous &store, Control &control,
                 const Deadline &deadline) {
  if (options.transport == ETC_NCCL) {
    NcclOptions nccl;
    nccl.rank = options.rank;
    nccl.devices = devicesOf(plan);
    nccl.ordinal = options.gpu;
    nccl.deadline = deadline;
    nccl.timeout = options.timeout;
    nccl.control = &control;
    return connectNccl(nccl);
  }
  GlooOptions gloo;
  gloo.rank = options.rank;
  gloo.devices = devicesOf(plan);
  gloo.host = options.host;
  gloo.deadline = deadline;
  gloo.put = [&](const std::string &key, const std::string &value) {
    if (Status s = store.put("gloo/" + key, value); !s.ok())
      throw std::runtime_error(s.message());
  };
  gloo.get = [&](const std::string &key) {
    return store.get("gloo/" + key, deadline);
  };
  return connectGloo(gloo);
}

Result<Connections> etc::runtime::connect(const OpenPlan &plan,
                                          const BootstrapOptions &options,
                                          Rendezvous &store,
                                          const std::atomic<bool> &isStopped,
                                          const Deadline &deadline) {
  auto control = connectControl(plan, options, store, isStopped, deadline);
  if (!control)
    return control.status();
  auto transport = connectTransport(plan, options, store, **control, deadline);
  if (!transport)
    return giveUp(**control, plan.index().device(options.rank),
                  transport.status());
  return Connections{std::move(*control), std::move(*transport)};
}
