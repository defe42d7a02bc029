#include "capi/Bootstrap.h"

#include "engine/Peers.h"
#include "job/PeerControl.h"
#include "job/PrivateFile.h"
#include "transport/GlooTransport.h"
#include "transport/NcclTransport.h"
#include "transport/OwnAddress.h"

#include <algorithm>
#include <sstream>
#include <thread>

using namespace etc::runtime;
using Clock = std::chrono::steady_clock;

namespace {

class CallerStore final : public KeyValues {
public:
  CallerStore(const etc_store &store, std::string tag)
      : store(store), tag(std::move(tag)) {}

  Status set(const std::string &key, const std::string &value) override {
    const std::string full = tag + "/" + key;
    return takeError(
        store.set(store.context, full.c_str(), value.data(), value.size()));
  }

  Result<std::string> get(const std::string &key,
                          Milliseconds timeout) override {
    const std::string full = tag + "/" + key;
    etc_value value;
    Status status = takeError(store.get(store.context, full.c_str(),
                                        timeout.count() / 1000.0, &value));
    return status.ok() ? Result<std::string>(std::move(value.bytes))
                       : Result<std::string>(status);
  }

private:
  const etc_store store;
  const std::string tag;
};

/// The largest values are the addresses of a large job.
constexpr uint64_t kLongestValue = 1 << 20;

/// A file a key, which this user alone reads and writes.
class DirectoryStore final : public KeyValues {
public:
  DirectoryStore(std::string directory, std::string tag,
                 const std::atomic<bool> &stop)
      : directory(std::move(directory)), tag(std::move(tag)), stop(stop) {}

  Status set(const std::string &key, const std::string &value) override {
    return writePrivate(pathOf(key), value);
  }

  Result<std::string> get(const std::string &key,
                          Milliseconds timeout) override {
    const std::string path = pathOf(key);
    const auto deadline = Clock::now() + timeout;
    while (!stop) {
      Result<std::optional<std::string>> value =
          readPrivate(path, kLongestValue);
      if (!value)
        return value.status();
      if (*value)
        return **value;
      if (Clock::now() >= deadline)
        return Status(ErrorKind::Peer, text(path, ": nobody wrote it within ",
                                            timeout.count() / 1000.0, " s"));
      std::this_thread::sleep_for(Milliseconds(5));
    }
    return Status(ErrorKind::Peer, "stopped");
  }

private:
  std::string pathOf(const std::string &key) const {
    std::string name = tag + "." + key;
    std::replace(name.begin(), name.end(), '/', '_');
    return directory + "/" + name;
  }

  const std::string directory, tag;
  const std::atomic<bool> &stop;
};

std::vector<uint32_t> devicesOf(const OpenPlan &plan) {
  const auto &participants = *plan.plan().participants();
  return {participants.begin(), participants.end()};
}

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

Result<nccl::UniqueId> exchangeId(KeyValues &store, const nccl::UniqueId *mine,
                                  Milliseconds timeout) {
  const std::string key = "nccl";
  if (mine) {
    Status set = store.set(key, {mine->internal, sizeof mine->internal});
    return set.ok() ? Result<nccl::UniqueId>(*mine)
                    : Result<nccl::UniqueId>(set);
  }
  Result<std::string> value = store.get(key, timeout);
  if (!value)
    return value.status();
  nccl::UniqueId id{};
  if (value->size() != sizeof id.internal)
    return Status(ErrorKind::Peer,
                  "participant 0's NCCL id is of another size");
  std::memcpy(id.internal, value->data(), value->size());
  return id;
}

} // namespace

std::unique_ptr<KeyValues> etc::runtime::makeStore(const etc_store &store,
                                                   std::string tag) {
  return std::make_unique<CallerStore>(store, std::move(tag));
}

std::unique_ptr<KeyValues>
etc::runtime::makeDirectoryStore(std::string directory, std::string tag,
                                 const std::atomic<bool> &stop) {
  return std::make_unique<DirectoryStore>(std::move(directory), std::move(tag),
                                          stop);
}

Status etc::runtime::comparePlans(const OpenPlan &plan,
                                  const BootstrapOptions &options,
                                  KeyValues &store) {
  const std::string mine = describeIntent(plan, options.mode);
  const Status able = findOwnAddress(options.host).status();
  if (Status s = store.set(text("plan/", options.rank),
                           able.ok() ? mine : kUnable + able.message());
      !s.ok())
    return s;
  if (!able.ok())
    return able;
  const auto deadline = Clock::now() + options.timeout;
  for (uint32_t rank = 0; rank != plan.index().rankCount(); ++rank) {
    auto left =
        std::chrono::duration_cast<Milliseconds>(deadline - Clock::now());
    Result<std::string> theirs =
        store.get(text("plan/", rank), std::max(left, Milliseconds(1)));
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
               KeyValues &store, const std::atomic<bool> &isStopped) {
  PeerControlOptions control;
  control.rank = options.rank;
  control.devices = devicesOf(plan);
  control.peers = findPeers(plan.index(), options.rank).all();
  control.host = options.host;
  control.timeout = options.timeout;
  control.isStopped = [&] { return isStopped.load(); };
  control.put = [&](const std::string &key, const std::string &value) {
    return store.set(key, value);
  };
  control.get = [&](const std::string &key) {
    return store.get(key, options.timeout);
  };
  return connectPeerControl(control);
}

static Result<std::unique_ptr<Transport>>
connectTransport(const OpenPlan &plan, const BootstrapOptions &options,
                 KeyValues &store, Control &control) {
  if (options.transport == ETC_NCCL) {
    NcclOptions nccl;
    nccl.rank = options.rank;
    nccl.devices = devicesOf(plan);
    nccl.ordinal = options.gpu;
    nccl.timeout = options.timeout;
    nccl.control = &control;
    nccl.exchangeId = [&](const nccl::UniqueId *mine) {
      return exchangeId(store, mine, options.timeout);
    };
    return connectNccl(nccl);
  }
  GlooOptions gloo;
  gloo.rank = options.rank;
  gloo.devices = devicesOf(plan);
  gloo.host = options.host;
  gloo.timeout = options.timeout;
  gloo.put = [&](const std::string &key, const std::string &value) {
    if (Status s = store.set("gloo/" + key, value); !s.ok())
      throw std::runtime_error(s.message());
  };
  gloo.get = [&](const std::string &key) {
    return store.get("gloo/" + key, options.timeout);
  };
  return connectGloo(gloo);
}

Result<Connections> etc::runtime::connect(const OpenPlan &plan,
                                          const BootstrapOptions &options,
                                          KeyValues &store,
                                          const std::atomic<bool> &isStopped) {
  auto control = connectControl(plan, options, store, isStopped);
  if (!control)
    return control.status();
  auto transport = connectTransport(plan, options, store, **control);
  if (!transport)
    return giveUp(**control, plan.index().device(options.rank),
                  transport.status());
  return Connections{std::move(*control), std::move(*transport)};
}
