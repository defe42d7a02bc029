// What the double of NCCL finds: mistakes that NCCL lets pass, or waits for.

#include "NcclFixture.h"

#include <array>

using namespace etc::runtime;
using namespace etc::test;

namespace {

class NcclDoubleTest : public NcclTest {
protected:
  /// In the order in which things are asked for.
  void SetUp() override {
    NcclTest::SetUp();
    ETC_OF_CUDA_DOUBLE(etcDoubleSeed)(0);
  }
};

/// Part of a message, of so many bytes, to or from the other rank.
struct Part {
  bool isSend;
  size_t bytes;
  uint32_t peer = 0; // where there are more than two
};

/// Posts parts in groups; the double looks for misuse.
std::vector<Status> exchange(const std::vector<std::vector<Part>> (&groups)[2],
                             Milliseconds timeout = Milliseconds(20'000)) {
  return onRanks(2, timeout,
                 [&](Transport &transport, uint32_t rank, Control &) {
                   if (Status s = connectBoth(transport, rank); !s.ok())
                     return s;
                   std::byte *memory = takeGpuMemory(rank, 1024);
                   for (const std::vector<Part> &group : groups[rank]) {
                     std::vector<Bytes> out;
                     std::vector<WritableBytes> in;
                     for (Part part : group)
                       if (part.isSend)
                         out.push_back({memory, part.bytes});
                       else
                         in.push_back({memory, part.bytes});
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

TEST_F(NcclDoubleTest, TheDoubleFindsAnotherCount) {
  auto statuses = exchange({{{{true, 64}}}, {{{false, 48}}}});
  EXPECT_EQ(takeFault(),
            "count mismatch: rank 0 sends 64 bytes, rank 1 receives 48");
  EXPECT_EQ(statuses[1].kind(), ErrorKind::Peer);
}

TEST_F(NcclDoubleTest, TheDoubleFindsAnotherOrder) {
  exchange({{{{true, 64}, {true, 48}}}, {{{false, 48}, {false, 64}}}});
  EXPECT_EQ(takeFault(),
            "order mismatch: rank 0 sends 64 bytes, rank 1 receives 48");
}

TEST_F(NcclDoubleTest, TheDoubleFindsWhatHasNoPartner) {
  auto statuses = exchange({{{{true, 64}}}, {}});
  EXPECT_EQ(takeFault(), "unmatched: rank 0 waits for a rank that has left");
  EXPECT_EQ(statuses[0].message().substr(0, 6), "NCCL: ");
}

TEST_F(NcclDoubleTest, TheDoubleFindsADeadlock) {
  // Both send first and receive in a later group: the classic mistake.
  const std::vector<std::vector<Part>> sendFirst{{{true, 8}}, {{false, 8}}};
  auto statuses = exchange({sendFirst, sendFirst});
  EXPECT_EQ(takeFault(), "deadlock: all ranks wait");
  EXPECT_EQ(statuses[0].message(), "NCCL: a transfer: internal error");
}

/// Groups of pieces, over connections that nobody has made before.
std::vector<Status>
connectLate(uint32_t count,
            std::function<std::vector<std::vector<Part>>(uint32_t)> groupsOf) {
  return onRanks(
      count, Milliseconds(20'000),
      [&](Transport &transport, uint32_t rank, Control &) {
        std::byte *memory = takeGpuMemory(rank, 64);
        for (const std::vector<Part> &group : groupsOf(rank)) {
          std::vector<Bytes> out(count);
          std::vector<WritableBytes> in(count);
          std::vector<Outgoing> outgoing;
          std::vector<Incoming> incoming;
          for (Part part : group) {
            out[part.peer] = {memory, part.bytes};
            in[part.peer] = {memory, part.bytes};
            if (part.isSend)
              outgoing.push_back({part.peer, 0, {&out[part.peer], 1}, {}});
            else
              incoming.push_back({part.peer, 0, {&in[part.peer], 1}, {}});
          }
          if (Status s = transport.post(outgoing, incoming); !s.ok())
            return s;
          if (Status s = transport.wait(Milliseconds(20'000)); !s.ok())
            return s;
        }
        return Status::success();
      });
}

TEST_F(NcclDoubleTest, ConnectingBlocksForAWholeGroup) {
  // Rank 0 receives from all, then answers all; the others do both in one
  // group. Were it not for connections, every message could be delivered.
  auto statuses = connectLate(3, [](uint32_t rank) {
    std::vector<std::vector<Part>> groups;
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

TEST_F(NcclDoubleTest, ConnectingTakesOneMessageForBothDirections) {
  // Two ranks at half the communicator's distance.
  connectLate(2, [](uint32_t rank) {
    return std::vector<std::vector<Part>>{{{rank == 0, 8, 1 - rank}},
                                          {{rank == 1, 8, 1 - rank}}};
  });
  EXPECT_EQ(takeFault(), "");
  connectLate(2, [](uint32_t rank) {
    return std::vector<std::vector<Part>>{{{true, 8, 1 - rank}},
                                          {{false, 8, 1 - rank}}};
  });
  EXPECT_EQ(takeFault(),
            "ranks 0 and 1 connect in one step, but not the same directions");
}

/// One of two ranks on NCCL's own interface: sends or receives 8 bytes, of
/// memory that rank 0 registers if it is to.
void exchangeRegistered(nccl::UniqueId id, int rank, bool isRegistered) {
  const nccl::Library &nccl = *nccl::findLibrary();
  const cuda::Driver &driver = *cuda::findDriver();
  ASSERT_TRUE(cuda::DeviceContext::open(driver, rank).ok());
  nccl::Config config = nccl::configOf(nccl.version);
  nccl::Communicator comm = nullptr;
  nccl.ncclCommInitRankConfig(&comm, 2, id, rank, &config);
  auto settle = [&] {
    nccl::Code state = nccl::kInProgress;
    while (state == nccl::kInProgress)
      nccl.ncclCommGetAsyncError(comm, &state);
  };
  settle();
  std::byte *bytes = takeGpuMemory(rank, 8);
  void *handle = nullptr;
  using Register = nccl::Code(nccl::Communicator, void *, size_t, void **);
  if (isRegistered)
    findInDouble<Register>(ETC_NCCL_DOUBLE, "ncclCommRegister")(comm, bytes, 8,
                                                                &handle);
  cuda::Stream stream = nullptr;
  driver.cuStreamCreate(&stream, 1);
  nccl.ncclGroupStart();
  if (rank == 0)
    nccl.ncclSend(bytes, 8, nccl::kBytes, 1, comm, stream);
  else
    nccl.ncclRecv(bytes, 8, nccl::kBytes, 0, comm, stream);
  nccl.ncclGroupEnd();
  settle();
  driver.cuStreamSynchronize(stream);
  nccl.ncclCommDestroy(comm);
  driver.cuStreamDestroy_v2(stream);
}

TEST_F(NcclDoubleTest, TheDoubleFindsTwoRanksOnOneGpu) {
  const nccl::Library &nccl = *nccl::findLibrary();
  nccl::UniqueId id{};
  nccl.ncclGetUniqueId(&id);
  std::array<nccl::Communicator, 2> comms{};
  for (int rank : {0, 1}) {
    ASSERT_TRUE(cuda::DeviceContext::open(*cuda::findDriver(), 3).ok());
    nccl::Config config = nccl::configOf(nccl.version);
    nccl.ncclCommInitRankConfig(&comms[rank], 2, id, rank, &config);
  }
  for (nccl::Communicator comm : comms) {
    nccl::Code state = nccl::kSuccess;
    nccl.ncclCommGetAsyncError(comm, &state);
    EXPECT_EQ(state, 5); // ncclInvalidUsage
    nccl.ncclCommAbort(comm);
  }
  EXPECT_EQ(takeFault(), "ranks 0 and 1 are both on GPU 0000:03:00.0");
}

TEST_F(NcclDoubleTest, TheDoubleFindsRegistrationAtOneEnd) {
  for (int registered : {0, 1, 2}) {
    nccl::UniqueId id{};
    (*nccl::findLibrary()).ncclGetUniqueId(&id);
    std::jthread other([&] { exchangeRegistered(id, 1, registered == 2); });
    exchangeRegistered(id, 0, registered >= 1);
    other.join();
    EXPECT_EQ(takeFault(), registered == 1
                               ? "memory of a transfer from rank 0 to rank 1 "
                                 "is registered at one end"
                               : "");
  }
}

} // namespace
