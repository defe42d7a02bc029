// A connection to one peer: messages out of and into a stream.

#ifndef ETC_RUNTIME_JOB_PEERCHANNEL_H
#define ETC_RUNTIME_JOB_PEERCHANNEL_H

#include "core/net/Socket.h"

#include <cstdint>
#include <deque>
#include <optional>

namespace etc::runtime {

/// Why a participant gave up.
struct Failure {
  std::string cause;                // one line; empty where it did not say
  std::optional<uint32_t> excluded; // the rank that it goes on without
};

/// A message is a header of eight bytes, its length and the generation of the
/// change, and its bytes. Lengths that no message has are signals: a sign of
/// life, rank 0's decision, a peer that leaves in order, or one that gives up
/// and then says why. Who speaks of another generation is not heard.
class PeerChannel {
public:
  enum class End { None, Left, GaveUp, Lost };

  /// `received` has come already; `unsent` goes before all else.
  PeerChannel(Socket socket, uint32_t generation, std::string received = {},
              std::string unsent = {})
      : socket(std::move(socket)), generation(generation),
        in(std::move(received)), out(std::move(unsent)) {
    parse();
  }

  void add(std::string_view message);
  void addBeat();
  void addDecision();
  void addGoodbye();
  void addGivingUp(const Failure &failure);
  /// Sends what the connection takes now. Where it takes nothing any more, what
  /// the peer said before it went is still taken in.
  void flush();
  /// Takes in what has come; returns whether that was anything.
  bool receive();

  /// Time passes in which this process listens. It counts from the peer's first
  /// word on: until then it may still be meeting others.
  void pass(Milliseconds time) { silence_ += hasSpoken ? time : time.zero(); }
  /// How long nothing has come.
  Milliseconds silence() const { return silence_; }

  /// Of the connection: see Socket.
  bool isReady() const { return socket.isReady(); }
  bool isCutOff() const { return socket.isCutOff(); }

  bool hasUnsent() const {
    return isListening() && socket.isReady() && !out.empty();
  }
  /// Messages that came before the end count.
  std::deque<std::string> inbox;
  /// Whether the peer has rank 0's decision.
  bool isDecided() const { return isDecided_; }
  End end() const { return end_; }
  /// Who has given up wants to know which cause all name.
  bool isListening() const { return end_ == End::None || end_ == End::GaveUp; }
  /// Of a peer that gave up.
  const Failure &failure() const { return failure_; }
  int fd() const { return socket.fd(); }

private:
  void addSignal(uint32_t signal);
  void parse();
  void handleSignal(uint32_t signal);
  void handleMessage(std::string message);
  size_t mostBytes() const;

  Socket socket;
  uint32_t generation;
  std::string in, out;
  Failure failure_;
  Milliseconds silence_{};
  bool hasSpoken = false, isDecided_ = false;
  bool isGivingUp = false; // it is about to say why
  End end_ = End::None;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_PEERCHANNEL_H
