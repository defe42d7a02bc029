// Messages over the doubles of the CUDA driver and of NCCL that are not what
// was sent.

#include "NcclFixture.h"
#include "PlanFixture.h"

#include "core/engine/DeviceRun.h"
#include "state/synthetic/SyntheticState.h"

#include <thread>
#include <utility>

using namespace etc::runtime;
using namespace etc::plan::test;
using namespace etc::test;

namespace {

/// Says of the first message that it had another hash.
class LyingControl final : public Control {
public:
  explicit LyingControl(Control &inner) : inner(inner) {}

  Status send(uint32_t peer, Bytes message) override {
    std::vector<std::byte> changed(message.begin(), message.end());
    if (!changed.empty() && !std::exchange(hasLied, true))
      changed.front() ^= std::byte{1};
    return inner.send(peer, changed);
  }
  Status receive(uint32_t peer, WritableBytes message,
                 const Deadline &deadline) override {
    return inner.receive(peer, message, deadline);
  }
  Status decide(const std::function<Status()> &note) override {
    return inner.decide(note);
  }
  Status awaitDecision(const Deadline &deadline) override {
    return inner.awaitDecision(deadline);
  }
  Status check() override { return inner.check(); }
  std::optional<uint32_t> culprit() const override { return inner.culprit(); }
  void abort(std::string_view cause) override { inner.abort(cause); }

private:
  Control &inner;
  bool hasLied = false;
};

TEST_F(NcclTest, AMessageThatIsNotWhatWasSentIsNamed) {
  const OpenPlan plan(twoStagePlan());
  auto statuses = onRanks(
      plan.index.rankCount(), Milliseconds(20'000),
      [&](Transport &transport, uint32_t rank, Control &honest) {
        LyingControl lying(honest);
        Control &control = rank == 0 ? lying : honest;
        auto worker = std::move(*makeCudaWorker(rank));
        RunOptions options{.timeout = Milliseconds(20'000)};
        options.keeping.source = &syntheticState();
        DeviceRun run(plan.index, rank, control, transport, *worker, options);
        Status status = run.prepare();
        if (status.ok())
          status = run.migrate();
        if (!status.ok())
          control.abort(status.message());
        return status;
      });
  // Ranks 0 and 2 exchange state; ranks 1 and 3 are another replica.
  EXPECT_EQ(statuses[2].kind(), ErrorKind::Peer);
  EXPECT_NE(statuses[2].message().find(": arrived damaged"), std::string::npos)
      << statuses[2].message();
  for (const Status &status : statuses)
    EXPECT_FALSE(status.ok());
}

} // namespace
