// Ranks of the C API over the doubles of the CUDA driver and of NCCL: threads
// with a GPU each.

#ifndef ETC_TEST_TRAINERNCCLFIXTURE_H
#define ETC_TEST_TRAINERNCCLFIXTURE_H

#include "NcclFixture.h"
#include "PlanFixture.h"

#include "capi/Migration.h"
#include "capi/TensorInfo.h"
#include "state/synthetic/StateCheck.h"
#include "state/synthetic/SyntheticState.h"

#include <filesystem>
#include <set>
#include <thread>

namespace etc::runtime::test {

using namespace etc::plan::test;

inline cuda::Context currentContext() {
  cuda::Context context = nullptr;
  (*cuda::findDriver()).cuCtxGetCurrent(&context);
  return context;
}

/// While it lives, a trainer's thread is on another GPU than the migration's,
/// and is left there.
class OnAnotherGpu {
public:
  OnAnotherGpu() {
    constexpr unsigned gpu = 7;
    EXPECT_TRUE(cuda::DeviceContext::open(*cuda::findDriver(), gpu).ok());
    context = currentContext();
  }
  ~OnAnotherGpu() { EXPECT_EQ(currentContext(), context); }
  OnAnotherGpu(const OnAnotherGpu &) = delete;
  OnAnotherGpu &operator=(const OnAnotherGpu &) = delete;

private:
  cuda::Context context = nullptr;
};

class TrainerNcclTest : public etc::test::GpuTest {
protected:
  void SetUp() override {
    GpuTest::SetUp();
    std::string pattern = testing::TempDir() + "etc-trainer-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    plan = *OpenPlan::copy(etc::plan::packPlan(twoStagePlan()));
  }
  void TearDown() override {
    std::filesystem::remove_all(directory);
    GpuTest::TearDown();
  }

  const PlanIndex &index() const { return plan->index(); }

  /// Calls visit(region of one box) for what a device holds of a tensor.
  template <typename Visit>
  void forEachBox(Holding holding, void *data, Visit visit) const {
    auto *at = static_cast<std::byte *>(data);
    for (uint32_t i = 0; i != index().boxCount(holding.shard); ++i) {
      const etc::BoxView box = index().shardBox(holding.shard, i);
      visit(Region{at, box});
      at += volume(box) * index().elementBytes(holding.tensor);
    }
  }

  /// A trainer's tensors, on its GPU.
  Status registerAll(Migration &migration, uint32_t rank) const {
    const uint32_t program = index().participant(rank).program;
    for (Holding holding : index().holdings(program, Side::Prev)) {
      const etc_tensor_info info = describe(index(), Side::Prev, holding);
      std::vector<std::byte> bytes(info.bytes);
      forEachBox(holding, bytes.data(), [&](Region region) {
        fillRegion(index(), holding.tensor, Side::Prev, region);
      });
      std::byte *memory = etc::test::takeGpuMemory(rank, info.bytes);
      ETC_OF_CUDA_DOUBLE(etcDoubleWrite)(memory, bytes.data(), info.bytes);
      etc_tensor tensor{sizeof tensor, info.dtype, memory, 1, 0, {}, {1}};
      tensor.shape[0] = static_cast<int64_t>(info.bytes) /
                        index().elementBytes(holding.tensor);
      if (Status s = migration.registerTensor(info.type, info.name, tensor);
          !s.ok())
        return s;
    }
    return Status::success();
  }

  Status check(const Migration &migration, uint32_t rank) const {
    return check(rank, [&](size_t position) {
      void *data = nullptr;
      EXPECT_TRUE(migration.current(position, &data, nullptr).ok());
      return data;
    });
  }

  Status checkShard(Holding holding, Side side, const void *data) const {
    std::vector<std::byte> bytes(index().shardBytes(holding.shard));
    ETC_OF_CUDA_DOUBLE(etcDoubleRead)(bytes.data(), data, bytes.size());
    Status status = Status::success();
    forEachBox(holding, bytes.data(), [&](Region region) {
      if (status.ok())
        status = checkRegion(index(), holding.tensor, side,
                             {region.data, region.box});
    });
    return status;
  }

  /// That all of the previous state is where it was.
  void checkPrev(const Migration &migration, uint32_t rank) const {
    const uint32_t program = index().participant(rank).program;
    size_t found = 0;
    for (const HeldShard &held :
         heldShards(index(), program, migration.standing()))
      if (held.side == Side::Prev || held.isBound) {
        EXPECT_EQ(checkShard({held.tensor, held.shard}, Side::Prev,
                             migration.find(held))
                      .message(),
                  "");
        ++found;
      }
    EXPECT_EQ(found, index().holdings(program, Side::Prev).size());
  }

  /// `find` says where the current tensor of a position is.
  template <typename Find> Status check(uint32_t rank, Find find) const {
    const uint32_t program = index().participant(rank).program;
    size_t position = 0;
    for (Holding holding : index().holdings(program, Side::Curr))
      if (Status s = checkShard(holding, Side::Curr, find(position++)); !s.ok())
        return s;
    return Status::success();
  }

  /// An allocator whose every call waits for the device, as a framework's may.
  struct Ledger {
    uint32_t gpu = 0;
    std::set<const void *> taken; // and not given back
  };
  static etc_memory waitingMemory(Ledger &ledger) {
    return {&ledger,
            [](void *context, const etc_tensor_info *, uint64_t bytes) {
              auto &own = *static_cast<Ledger *>(context);
              void *data = etc::test::takeGpuMemory(own.gpu, bytes);
              own.taken.insert(data);
              return data;
            },
            [](void *context, etc_side, const etc_tensor_info *, void *data,
               uint64_t) {
              auto &own = *static_cast<Ledger *>(context);
              own.taken.erase(data);
              etc::test::leaveGpuMemory(own.gpu, data);
            }};
  }

  /// Prepares on one thread a rank, and goes on with `next` on another.
  template <typename Next>
  std::vector<Status> onRanks(Next next, etc_mode mode = ETC_EAGER,
                              bool ownsMemory = false) {
    std::vector<Status> statuses(index().rankCount(), Status::success());
    ledgers.assign(statuses.size(), {});
    std::vector<std::jthread> threads;
    for (uint32_t rank = 0; rank != statuses.size(); ++rank)
      threads.emplace_back([&, rank] {
        MigrationOptions options;
        options.bootstrap.rank = options.bootstrap.gpu = rank;
        options.bootstrap.transport = ETC_NCCL;
        options.bootstrap.host = "127.0.0.1";
        options.bootstrap.timeout = Milliseconds(60'000);
        options.bootstrap.silence = Milliseconds(60'000);
        options.tag = "etc";
        options.directory = directory;
        options.bootstrap.mode = mode;
        Ledger &ledger = ledgers[rank];
        ledger.gpu = rank;
        if (ownsMemory)
          options.memory = waitingMemory(ledger);
        std::unique_ptr<Migration> migration;
        if (rank == quitter) {
          options.progressContext = &migration;
          options.progress = [](void *of, uint32_t round, uint32_t, uint64_t) {
            if (round == 1)
              (*static_cast<std::unique_ptr<Migration> *>(of))
                  ->abort("a cause");
          };
        }
        {
          const OnAnotherGpu before;
          migration = std::move(*Migration::create(plan, options));
        }
        Status &status = statuses[rank];
        status = registerAll(*migration, rank);
        if (status.ok()) {
          const OnAnotherGpu before;
          status = migration->prepare();
        }
        if (status.ok())
          std::jthread([&] { status = next(*migration, rank); });
        const OnAnotherGpu before;
        migration.reset();
      });
    threads.clear();
    return statuses;
  }

  std::filesystem::path directory;
  std::shared_ptr<const OpenPlan> plan;
  std::vector<Ledger> ledgers;     // by rank
  std::optional<uint32_t> quitter; // gives up when its second round begins
};

} // namespace etc::runtime::test

#endif // ETC_TEST_TRAINERNCCLFIXTURE_H
