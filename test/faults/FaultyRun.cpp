// etc-run with faults: ETC_FAULT=KIND@DEVICE:ROUND:PHASE makes one happen when
// the device enters the phase of the round. Kinds: kill, stop, exit, full (no
// file grows any more), flip (a byte of a message that arrives), slow (a pause
// of 100 ms), late (one of 5 s), hang (for good).

#include "Hooks.h"

#include "core/transport/ForwardingTransport.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace etc::runtime;

namespace {

constexpr const char *kPhases[] = {
    "fill",    "pack",    "transfer", "wait",   "land", "acknowledge",
    "release", "prepare", "decide",   "commit", "done"};

struct Fault {
  std::string kind, phase;
  uint32_t device = ~0u, round = ~0u;

  bool hits(uint32_t otherDevice, uint32_t otherRound, Phase other) const {
    return device == otherDevice && round == otherRound &&
           phase == kPhases[static_cast<uint32_t>(other)];
  }
};

Fault readFault() {
  Fault fault;
  char kind[16] = "", phase[16] = "";
  const char *value = std::getenv("ETC_FAULT");
  if (value && std::sscanf(value, "%15[a-z]@%u:%u:%15[a-z]", kind,
                           &fault.device, &fault.round, phase) != 4) {
    std::fprintf(stderr, "ETC_FAULT: expected KIND@DEVICE:ROUND:PHASE\n");
    std::exit(2);
  }
  fault.kind = kind;
  fault.phase = phase;
  return fault;
}

void fillDisk() {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit none{0, 0};
  ::setrlimit(RLIMIT_FSIZE, &none);
}

class Injector final : public Observer {
public:
  explicit Injector(Fault fault) : fault(std::move(fault)) {}

  void enter(uint32_t device, uint32_t round, Phase phase) override {
    if (!fault.hits(device, round, phase))
      return;
    if (fault.kind == "kill")
      ::kill(::getpid(), SIGKILL);
    if (fault.kind == "stop")
      ::kill(::getpid(), SIGSTOP);
    if (fault.kind == "exit")
      ::_exit(9);
    if (fault.kind == "full")
      fillDisk();
    if (fault.kind == "slow")
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (fault.kind == "late")
      std::this_thread::sleep_for(std::chrono::seconds(5));
    while (fault.kind == "hang")
      std::this_thread::sleep_for(std::chrono::seconds(1));
  }

private:
  const Fault fault;
};

/// Damages the first message that arrives in a round; none in round kNever.
/// Threads send messages too then, since there is nothing to damage where the
/// receiver reads the sender's memory.
class FlippingTransport final : public ForwardingTransport {
public:
  static constexpr uint32_t kNever = ~0u;

  FlippingTransport(Transport &inner, uint32_t round)
      : ForwardingTransport(inner), round(round) {}

  bool sharesMemory() const override { return false; }
  Status post(std::span<const Outgoing> outgoing,
              std::span<Incoming> incoming) override {
    pending = incoming;
    return inner.post(outgoing, incoming);
  }
  Status wait(const Deadline &deadline) override {
    const bool isHit = groups++ == round && !pending.empty();
    // What goes by the piece is looked at as soon as it is here.
    if (isHit && inner.pieceBytes() > 0)
      pending[0].take = [this, take = pending[0].take](size_t piece) {
        if (piece == 0)
          flip();
        return take(piece);
      };
    Status status = inner.wait(deadline);
    if (status.ok() && isHit && inner.pieceBytes() == 0)
      flip();
    return status;
  }

private:
  void flip() {
    WritableBytes piece = pending[0].pieces[0];
    piece[piece.size() / 2] ^= std::byte{0x10};
  }

  const uint32_t round;
  uint32_t groups = 0;
  std::span<Incoming> pending;
};

} // namespace

int main(int argc, char **argv) {
  const Fault fault = readFault();
  Injector injector(fault);
  etc::run::Hooks hooks;
  hooks.observer = &injector;
  if (fault.kind == "flip")
    hooks.wrap = [&fault](Transport &inner, uint32_t device) {
      return std::make_unique<FlippingTransport>(
          inner,
          device == fault.device ? fault.round : FlippingTransport::kNever);
    };
  return etc::run::runMain(argc, argv, hooks);
}
