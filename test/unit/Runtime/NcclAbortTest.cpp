// How NCCL's transport ends after an error, over the test double.

#include "NcclFixture.h"

#include <atomic>
#include <thread>

using namespace etc::runtime;
using namespace etc::test;

namespace {

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
                WritableBytes piece{takeGpuMemory(rank, 8), 8};
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
        EXPECT_TRUE(transport.stop());
        worker->allocator().release(buffer);
        worker.reset();
        return transport.wait(Milliseconds(20'000));
      });
  EXPECT_EQ(statuses[0].message(), "NCCL: the communicator was aborted");
}

/// An abort waits for the other ranks of the node: they have to know first.
TEST_F(NcclTest, TheOthersAreToldBeforeAnAbort) {
  auto statuses =
      onRanks(2, Milliseconds(60'000),
              [&](Transport &transport, uint32_t rank, Control &control) {
                if (Status s = connectBoth(transport, rank); !s.ok())
                  return s;
                // It does not look for what rank 0 waits for, only whether all
                // are there.
                while (rank == 1 && control.check().ok())
                  std::this_thread::sleep_for(Milliseconds(5));
                if (rank == 1)
                  return control.check();
                WritableBytes piece{takeGpuMemory(rank, 8), 8};
                Incoming message{1, 8, {&piece, 1}, {}};
                if (Status s = transport.post({}, {&message, 1}); !s.ok())
                  return s;
                Status status = transport.wait(Milliseconds(50));
                control.abort("no end");
                EXPECT_TRUE(transport.stop());
                return status;
              });
  EXPECT_EQ(statuses[0].message(), "NCCL: no end of a transfer within 0.05 s");
  EXPECT_EQ(statuses[1].message(), "stopped, since another device failed");
}

/// One that waits for nothing of NCCL's aborts, too: others may wait for that.
TEST_F(NcclTest, AnIdleRankHoldsUpNoAbort) {
  std::atomic<bool> isOver{false};
  auto statuses =
      onRanks(2, Milliseconds(60'000),
              [&](Transport &transport, uint32_t rank, Control &control) {
                if (Status s = connectBoth(transport, rank); !s.ok())
                  return s;
                while (rank == 1 && control.check().ok())
                  std::this_thread::sleep_for(Milliseconds(5));
                if (rank == 1) {
                  EXPECT_TRUE(transport.stop());
                  while (!isOver)
                    std::this_thread::sleep_for(Milliseconds(5));
                  return Status::success();
                }
                WritableBytes piece{takeGpuMemory(rank, 8), 8};
                Incoming message{1, 8, {&piece, 1}, {}};
                if (Status s = transport.post({}, {&message, 1}); !s.ok())
                  return s;
                (void)transport.wait(Milliseconds(50));
                control.abort("no end");
                EXPECT_TRUE(transport.stop());
                isOver = true;
                return Status::success();
              });
  for (const Status &status : statuses)
    EXPECT_EQ(status.message(), "");
}

/// Nothing of it is under way, whatever its own abort waits for.
TEST_F(NcclTest, AnIdleRankIsStoppedAtOnce) {
  std::atomic<bool> isOver{false};
  auto statuses =
      onRanks(2, Milliseconds(20'000),
              [&](Transport &transport, uint32_t rank, Control &) {
                if (Status s = connectBoth(transport, rank); !s.ok())
                  return s;
                while (rank == 1 && !isOver)
                  std::this_thread::sleep_for(Milliseconds(5));
                if (rank == 0) {
                  EXPECT_TRUE(transport.stop());
                  EXPECT_EQ(transport.wait(Milliseconds(1)).message(),
                            "NCCL: the communicator was aborted");
                  isOver = true;
                }
                return Status::success();
              });
  for (const Status &status : statuses)
    EXPECT_EQ(status.message(), "");
}

/// A rank that never aborts holds up nobody for ever.
TEST_F(NcclTest, AnAbortThatDoesNotComeBackIsLeft) {
  std::atomic<bool> isOver{false};
  auto statuses =
      onRanks(2, Milliseconds(20'000),
              [&](Transport &transport, uint32_t rank, Control &) {
                if (Status s = connectBoth(transport, rank); !s.ok())
                  return s;
                while (rank == 1 && !isOver)
                  std::this_thread::sleep_for(Milliseconds(5));
                if (rank == 1)
                  return Status::success();
                WritableBytes piece{takeGpuMemory(rank, 8), 8};
                Incoming message{1, 8, {&piece, 1}, {}};
                if (Status s = transport.post({}, {&message, 1}); !s.ok())
                  return s;
                EXPECT_FALSE(transport.stop());
                EXPECT_FALSE(transport.stop()) << "asked again";
                isOver = true; // rank 1 leaves
                const Deadline end(Milliseconds(20'000));
                while (!transport.hasStopped() && !end.isOver())
                  std::this_thread::sleep_for(Milliseconds(5));
                EXPECT_TRUE(transport.hasStopped());
                EXPECT_TRUE(transport.stop());
                return Status::success();
              });
  for (const Status &status : statuses)
    EXPECT_EQ(status.message(), "");
}

} // namespace
