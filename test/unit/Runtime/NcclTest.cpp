// NCCL over the test double: whole migrations, and what the double finds.

#include "GpuFixture.h"
#include "PlanFixture.h"

#include "engine/DeviceRun.h"
#include "transport/LocalTransport.h"
#include "transport/NcclTransport.h"

#include <condition_variable>
#include <latch>
#include <mutex>
#include <thread>

using namespace etc::runtime;
using namespace etc::plan::test;
using etc::test::OpenPlan;
using etc::test::takeFault;

namespace {

class NcclTest : public etc::test::GpuTest {};

RunOptions quickly() {
  return {.timeout = Milliseconds(20'000), .ceiling = true};
}

unsigned handshakes() {
  return etc::test::callDouble<unsigned>("etcDoubleHandshakes");
}

/// An id handed from thread to thread.
IdExchange exchangeAmongThreads() {
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<nccl::UniqueId> id;
  };
  auto shared = std::make_shared<Shared>();
  return [shared](const nccl::UniqueId *mine) -> Result<nccl::UniqueId> {
    std::unique_lock lock(shared->mutex);
    if (mine) {
      shared->id = *mine;
      shared->changed.notify_all();
    }
    shared->changed.wait(lock, [&] { return shared->id.has_value(); });
    return *shared->id;
  };
}

/// Runs body(transport, rank, control) on `count` ranks; returns their
/// statuses.
template <typename Body>
std::vector<Status> onRanks(uint32_t count, Milliseconds timeout, Body body) {
  NcclOptions options;
  for (uint32_t rank = 0; rank != count; ++rank)
    options.devices.push_back(rank);
  options.exchangeId = exchangeAmongThreads();
  options.timeout = timeout;
  LocalCluster cluster(options.devices);
  std::vector<Status> statuses(count, Status::success());
  std::vector<std::jthread> threads;
  for (uint32_t rank = 0; rank != count; ++rank)
    threads.emplace_back([&, rank] {
      NcclOptions mine = options;
      mine.rank = mine.ordinal = rank;
      mine.control = &cluster.control(rank);
      auto transport = connectNccl(mine);
      statuses[rank] = transport ? body(**transport, rank, *mine.control)
                                 : transport.status();
    });
  threads.clear();
  return statuses;
}

TEST_F(NcclTest, NcclMigrates) {
  for (auto plan : {twoStagePlan(), relayPlan()}) {
    OpenPlan open(std::move(plan));
    std::vector<DeviceReport> reports(open.index.rankCount());
    std::latch arePrepared(open.index.rankCount());
    auto statuses =
        onRanks(open.index.rankCount(), Milliseconds(20'000),
                [&](Transport &transport, uint32_t rank, Control &control) {
                  auto worker = std::move(*makeCudaWorker(rank));
                  DeviceRun run(open.index, rank, control, transport, *worker,
                                quickly());
                  Status status = run.prepare();
                  arePrepared.arrive_and_wait();
                  unsigned before = handshakes();
                  if (status.ok())
                    status = run.migrate();
                  EXPECT_EQ(handshakes(), before) << "connected in a round";
                  if (status.ok())
                    status = run.verify();
                  reports[rank] = run.report();
                  return status;
                });
    for (uint32_t rank = 0; rank != statuses.size(); ++rank) {
      EXPECT_EQ(statuses[rank].message(), "") << rank;
      EXPECT_EQ(reports[rank].verified, 1u) << rank;
      EXPECT_EQ(reports[rank].peakBytes, reports[rank].provedBytes) << rank;
    }
  }
}

TEST_F(NcclTest, PairsHaveAllChannelsInLargeJobsToo) {
  onRanks(2, Milliseconds(20'000),
          [](Transport &, uint32_t, Control &) { return Status::success(); });
  EXPECT_EQ(etc::test::callDouble<unsigned>("etcDoubleChannelsAPair"), 8u);
}

/// A trainer's tensors: they are there, and nobody fills them.
class TrainersState final : public StateSource {
public:
  Result<uint64_t> read(const PlanIndex &, uint32_t, uint32_t,
                        Region) const override {
    return 0;
  }
};

/// What torch does when a trainer looks at another GPU.
void leaveContext() {
  void *driver = ::dlopen(ETC_GPU_DOUBLE, RTLD_NOW | RTLD_LOCAL);
  reinterpret_cast<decltype(cuda::Driver::cuCtxSetCurrent)>(
      ::dlsym(driver, "cuCtxSetCurrent"))(nullptr);
}

TEST_F(NcclTest, AnotherThreadMayGoOn) {
  for (auto plan : {twoStagePlan(), relayPlan()}) {
    OpenPlan open(std::move(plan));
    const TrainersState state;
    auto statuses = onRanks(
        open.index.rankCount(), Milliseconds(20'000),
        [&](Transport &transport, uint32_t rank, Control &control) {
          auto worker = std::move(*makeCudaWorker(rank));
          RunOptions options{.timeout = Milliseconds(20'000),
                             .verify = Verify::Checksum};
          options.keeping.source = &state;
          DeviceRun run(open.index, rank, control, transport, *worker, options);
          leaveContext();
          Status status = run.prepare();
          leaveContext();
          if (status.ok())
            std::jthread([&] { status = run.migrate(); });
          return status;
        });
    for (const Status &status : statuses)
      EXPECT_EQ(status.message(), "");
  }
}

TEST_F(NcclTest, AWorkerMakesNoRoomWhileATransferIsUnderWay) {
  auto statuses =
      onRanks(2, Milliseconds(20'000),
              [&](Transport &transport, uint32_t rank, Control &) {
                const uint32_t other = 1 - rank;
                if (Status s = transport.prepare({{&other, 1}, {&other, 1}},
                                                 Milliseconds(20'000));
                    !s.ok() || rank == 1)
                  return s;
                auto worker = std::move(*makeCudaWorker(rank));
                if (Status s = worker->reserveMoves(1000, 8); !s.ok())
                  return s;
                std::vector<std::byte> memory(8);
                WritableBytes piece = memory;
                Incoming message{1, 8, {&piece, 1}, {}};
                if (Status s = transport.post({}, {&message, 1}); !s.ok())
                  return s;
                std::byte bytes[64]{};
                std::vector<Move> moves(1000, hashMove(bytes, sizeof bytes));
                for (Move &move : moves)
                  move.sum = 7;
                std::vector<uint64_t> sums(8);
                Status status = worker->run(moves, sums);
                transport.forgetMemory();
                return status;
              });
  EXPECT_EQ(statuses[0].message(), "");
}

/// One piece of so many bytes, to or from the other rank.
struct Piece {
  bool isSend;
  size_t bytes;
  uint32_t peer = 0; // where there are more than two
};

/// Two ranks that send to each other.
Status connectBoth(Transport &transport, uint32_t rank) {
  const uint32_t other = 1 - rank;
  return transport.prepare({{&other, 1}, {&other, 1}}, Milliseconds(20'000));
}

/// Posts pieces in groups; the double looks for misuse.
std::vector<Status> exchange(const std::vector<std::vector<Piece>> (&groups)[2],
                             Milliseconds timeout = Milliseconds(20'000)) {
  return onRanks(2, timeout,
                 [&](Transport &transport, uint32_t rank, Control &) {
                   if (Status s = connectBoth(transport, rank); !s.ok())
                     return s;
                   std::vector<std::byte> memory(1024);
                   for (const std::vector<Piece> &group : groups[rank]) {
                     std::vector<Bytes> out;
                     std::vector<WritableBytes> in;
                     for (Piece piece : group)
                       if (piece.isSend)
                         out.push_back({memory.data(), piece.bytes});
                       else
                         in.push_back({memory.data(), piece.bytes});
                     std::vector<Outgoing> outgoing;
                     std::vector<Incoming> incoming;
                     if (!out.empty())
                       outgoing.push_back({1 - rank, 0, out, {}});
                     if (!in.empty())
                       incoming.push_back({1 - rank, 0, in, {}});
                     if (Status s = transport.post(outgoing, incoming); !s.ok())
                       return s;
                     if (Status s = transport.wait(timeout); !s.ok())
                       return s;
                   }
                   return Status::success();
                 });
}

TEST_F(NcclTest, TheDoubleFindsAnotherCount) {
  auto statuses = exchange({{{{true, 64}}}, {{{false, 48}}}});
  EXPECT_EQ(takeFault(),
            "count mismatch: rank 0 sends 64 bytes, rank 1 receives 48");
  EXPECT_EQ(statuses[1].kind(), ErrorKind::Peer);
}

TEST_F(NcclTest, TheDoubleFindsAnotherOrder) {
  exchange({{{{true, 64}, {true, 48}}}, {{{false, 48}, {false, 64}}}});
  EXPECT_EQ(takeFault(),
            "order mismatch: rank 0 sends 64 bytes, rank 1 receives 48");
}

TEST_F(NcclTest, TheDoubleFindsWhatHasNoPartner) {
  auto statuses = exchange({{{{true, 64}}}, {}});
  EXPECT_EQ(takeFault(), "unmatched: rank 0 waits for a rank that has left");
  EXPECT_EQ(statuses[0].message().substr(0, 6), "NCCL: ");
}

TEST_F(NcclTest, TheDoubleFindsADeadlock) {
  // Both send first and receive in a later group: the classic mistake.
  const std::vector<std::vector<Piece>> sendFirst{{{true, 8}}, {{false, 8}}};
  auto statuses = exchange({sendFirst, sendFirst});
  EXPECT_EQ(takeFault(), "deadlock: all ranks wait");
  EXPECT_EQ(statuses[0].message(), "NCCL: a transfer: internal error");
}

/// Groups of pieces, over connections that nobody has made before.
std::vector<Status>
connectLate(uint32_t count,
            std::function<std::vector<std::vector<Piece>>(uint32_t)> groupsOf) {
  return onRanks(
      count, Milliseconds(20'000),
      [&](Transport &transport, uint32_t rank, Control &) {
        std::vector<std::byte> memory(64);
        for (const std::vector<Piece> &group : groupsOf(rank)) {
          std::vector<Bytes> out(count);
          std::vector<WritableBytes> in(count);
          std::vector<Outgoing> outgoing;
          std::vector<Incoming> incoming;
          for (Piece piece : group) {
            out[piece.peer] = {memory.data(), piece.bytes};
            in[piece.peer] = {memory.data(), piece.bytes};
            if (piece.isSend)
              outgoing.push_back({piece.peer, 0, {&out[piece.peer], 1}, {}});
            else
              incoming.push_back({piece.peer, 0, {&in[piece.peer], 1}, {}});
          }
          if (Status s = transport.post(outgoing, incoming); !s.ok())
            return s;
          if (Status s = transport.wait(Milliseconds(20'000)); !s.ok())
            return s;
        }
        return Status::success();
      });
}

TEST_F(NcclTest, ConnectingBlocksForAWholeGroup) {
  // Rank 0 receives from all, then answers all; the others do both in one
  // group. Were it not for connections, every message could be delivered.
  auto statuses = connectLate(3, [](uint32_t rank) {
    std::vector<std::vector<Piece>> groups;
    if (rank != 0)
      groups = {{{true, 8, 0}, {false, 8, 0}}};
    else
      groups = {{{false, 8, 1}, {false, 8, 2}}, {{true, 8, 1}, {true, 8, 2}}};
    return groups;
  });
  EXPECT_EQ(takeFault().substr(0, 25), "deadlock while connecting");
  for (const Status &status : statuses)
    EXPECT_EQ(status.message(), "NCCL: group: internal error");
}

TEST_F(NcclTest, ConnectingTakesOneMessageForBothDirections) {
  // Two ranks at half the communicator's distance.
  connectLate(2, [](uint32_t rank) {
    return std::vector<std::vector<Piece>>{{{rank == 0, 8, 1 - rank}},
                                           {{rank == 1, 8, 1 - rank}}};
  });
  EXPECT_EQ(takeFault(), "");
  connectLate(2, [](uint32_t rank) {
    return std::vector<std::vector<Piece>>{{{true, 8, 1 - rank}},
                                           {{false, 8, 1 - rank}}};
  });
  EXPECT_EQ(takeFault().substr(6),
            "0 and 1 connect in one step, but not the same directions");
}

TEST_F(NcclTest, AWaitEndsAtItsDeadline) {
  // Rank 1 is there, but never receives.
  auto statuses =
      onRanks(2, Milliseconds(20'000),
              [&](Transport &transport, uint32_t rank, Control &) {
                if (Status s = connectBoth(transport, rank); !s.ok())
                  return s;
                if (rank == 1) {
                  std::this_thread::sleep_for(Milliseconds(300));
                  return Status::success();
                }
                std::vector<std::byte> memory(8);
                Bytes piece = memory;
                Outgoing message{1, 8, {&piece, 1}, {}};
                if (Status s = transport.post({&message, 1}, {}); !s.ok())
                  return s;
                return transport.wait(Milliseconds(50));
              });
  EXPECT_EQ(statuses[0].kind(), ErrorKind::Peer);
  EXPECT_EQ(statuses[0].message(), "NCCL: no end of a transfer within 0.05 s");
  EXPECT_EQ(statuses[1].message(), "");
}

TEST_F(NcclTest, AbortEndsAWait) {
  auto statuses =
      onRanks(2, Milliseconds(20'000),
              [&](Transport &transport, uint32_t rank, Control &) {
                if (Status s = connectBoth(transport, rank); !s.ok())
                  return s;
                if (rank == 1) {
                  std::this_thread::sleep_for(Milliseconds(300));
                  return Status::success();
                }
                std::vector<std::byte> memory(8);
                WritableBytes piece = memory;
                Incoming message{1, 8, {&piece, 1}, {}};
                if (Status s = transport.post({}, {&message, 1}); !s.ok())
                  return s;
                std::jthread other([&] { transport.abort(); });
                return transport.wait(Milliseconds(20'000));
              });
  EXPECT_EQ(statuses[0].message(),
            "NCCL: stopped, since another device failed");
}

TEST_F(NcclTest, NothingIsUnderWayWhereMemoryGoes) {
  auto statuses = onRanks(
      2, Milliseconds(20'000),
      [&](Transport &transport, uint32_t rank, Control &) {
        if (Status s = connectBoth(transport, rank); !s.ok() || rank == 1)
          return s;
        auto worker = std::move(*makeCudaWorker(rank));
        Buffer buffer = *worker->allocator().allocate(64);
        WritableBytes piece{buffer.data, buffer.bytes};
        Incoming message{1, 64, {&piece, 1}, {}};
        if (Status s = transport.post({}, {&message, 1}); !s.ok())
          return s;
        // Something else went wrong; nobody waits for the message.
        transport.forgetMemory();
        worker->allocator().release(buffer);
        worker.reset();
        return transport.wait(Milliseconds(20'000));
      });
  EXPECT_EQ(statuses[0].message(), "NCCL: the communicator was aborted");
}

} // namespace
