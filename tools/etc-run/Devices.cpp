#include "Devices.h"

#include "Meeting.h"

#include "core/device/CudaWorker.h"
#include "core/engine/Peers.h"
#include "core/net/OwnAddress.h"
#include "core/transport/NcclTransport.h"
#include "core/transport/TcpTransport.h"
#include "job/HubRendezvous.h"
#include "job/PeerControl.h"

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

using namespace etc::run;
using namespace etc::runtime;
using etc::plan::PlanIndex;

/// The place of a process on its host, as launchers tell it; else its rank.
/// What a launcher says about this process is nothing about the threads and
/// processes that it starts itself.
static uint32_t localRank(const Options &options, uint32_t rank) {
  if (options.transport == TransportKind::Local || options.launch > 0)
    return rank;
  for (const char *name :
       {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"})
    if (std::optional<uint32_t> number = readNumber(name))
      return *number;
  return rank;
}

static Result<unsigned> countGpus() {
  const Result<cuda::Driver> &driver = cuda::findDriver();
  if (!driver)
    return driver.status();
  int count = 0;
  if (Status s = driver->check(driver->cuDeviceGetCount(&count),
                               "cannot count devices");
      !s.ok())
    return s;
  if (count == 0)
    return Status(ErrorKind::Usage, "no GPU on this machine; use --memory=host "
                                    "with --transport=tcp or local");
  return static_cast<unsigned>(count);
}

/// NCCL refuses two ranks on one GPU of one host; as hosts of their own, over
/// sockets, they work: for tests, not for speed.
static void shareGpu(uint32_t rank) {
  const std::string host = "etc-" + std::to_string(rank);
  ::setenv("NCCL_HOSTID", host.c_str(), 0);
  ::setenv("NCCL_NET", "Socket", 0);
  ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
}

Status etc::run::checkDevices(const Options &options) {
  // Here once for all processes that are started. Those that a launcher started
  // meet first, so that each of them learns what is wrong with one.
  if (options.launch > 0 && !options.host.empty())
    if (Status s = findOwnAddress(options.host).status(); !s.ok())
      return s;
  // Only libraries are looked up: a process that is about to fork must not
  // start the driver.
  if (options.transport == TransportKind::Nccl)
    return findNccl();
  return Status::success();
}

/// GPUs of the ranks to which a rank sends: as threads of one process, these
/// copy from its tensors.
static std::vector<unsigned> readersOf(const PlanIndex &index, uint32_t rank,
                                       unsigned gpus) {
  std::set<unsigned> readers;
  for (uint32_t target : findPeers(index, rank).targets)
    readers.insert(target % gpus);
  return {readers.begin(), readers.end()};
}

Result<std::unique_ptr<Worker>> etc::run::makeWorker(const PlanIndex &index,
                                                     const Options &options,
                                                     const Keeping &keeping,
                                                     uint32_t rank) {
  if (!options.usesGpu())
    return makeHostWorker(keeping, index.device(rank));
  Result<unsigned> gpus = countGpus();
  if (!gpus)
    return gpus.status();
  const std::vector<unsigned> readers =
      options.transport == TransportKind::Local ? readersOf(index, rank, *gpus)
                                                : std::vector<unsigned>{};
  return makeCudaWorker(localRank(options, rank) % *gpus, readers);
}

static std::vector<uint32_t> devicesOf(const PlanIndex &index) {
  return index.participants();
}

static Result<std::unique_ptr<Control>>
connectControl(const PlanIndex &index, const Options &options, uint32_t rank,
               Client &client, const std::atomic<bool> &isStopped) {
  PeerControlOptions control;
  control.rank = rank;
  control.devices = devicesOf(index);
  control.peers = findPeers(index, rank).all();
  HubRendezvous rendezvous(client);
  control.rendezvous = &rendezvous;
  control.host = options.host;
  control.check = [&] {
    return isStopped
               ? Status(ErrorKind::Peer, "stopped, since another device failed")
               : Status::success();
  };
  control.deadline = options.timeout;
  return connectPeerControl(control);
}

static std::unique_ptr<Transport> makeTcp(const PlanIndex &index,
                                          const Options &options, uint32_t rank,
                                          Control &control) {
  TcpOptions tcp;
  tcp.rank = rank;
  tcp.devices = devicesOf(index);
  tcp.host = options.host;
  tcp.isEncrypted = options.encrypt;
  tcp.control = &control;
  return makeTcpTransport(tcp);
}

static Result<std::unique_ptr<Transport>>
connectNcclPeers(const PlanIndex &index, const Options &options, uint32_t rank,
                 Control &control) {
  Result<unsigned> gpus = countGpus();
  if (!gpus)
    return gpus.status();
  if (options.launch > *gpus)
    shareGpu(rank);
  NcclOptions nccl;
  nccl.rank = rank;
  nccl.devices = devicesOf(index);
  nccl.ordinal = localRank(options, rank) % *gpus;
  nccl.deadline = nccl.timeout = options.timeout;
  nccl.control = &control;
  if (rank == 0)
    nccl.traffic = trafficOf(index);
  return connectNccl(nccl);
}

Result<Connections> etc::run::connect(const PlanIndex &index,
                                      const Options &options, uint32_t rank,
                                      Client &client,
                                      const std::atomic<bool> &isStopped) {
  auto control = connectControl(index, options, rank, client, isStopped);
  if (!control)
    return control.status();
  Result<std::unique_ptr<Transport>> transport =
      options.transport == TransportKind::Tcp
          ? makeTcp(index, options, rank, **control)
          : connectNcclPeers(index, options, rank, **control);
  if (!transport) // all name one cause
    return giveUp(**control, index.device(rank), transport.status());
  return Connections{std::move(*control), std::move(*transport)};
}
