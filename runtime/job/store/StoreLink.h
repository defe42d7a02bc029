// A connection between two processes of a job's store.

#ifndef ETC_RUNTIME_JOB_STORE_STORELINK_H
#define ETC_RUNTIME_JOB_STORE_STORELINK_H

#include "core/net/Socket.h"
#include "job/store/StoreMessage.h"

#include <poll.h>

namespace etc::runtime {

class StoreLink {
public:
  enum class State {
    Connecting,
    Open,
    Refused, // nobody listens there: that process is no more
    Over,    // closed, or it said what is none
  };

  /// Begins to connect.
  StoreLink(const std::string &address, const Secret &secret);
  /// That was accepted.
  StoreLink(Socket accepted, const Secret &secret);

  void send(const StoreMessage &message);
  void flush();
  /// Takes in what has come. Time passes in which this process listens.
  void receive(Milliseconds time);
  /// The next message of it.
  std::optional<StoreMessage> next();

  State state() const { return state_; }
  bool isOver() const {
    return state_ == State::Refused || state_ == State::Over;
  }
  /// How long nothing has come.
  Milliseconds silence() const { return silence_; }
  pollfd entry() const;

private:
  void connect();

  Socket socket;
  Secret secret;
  State state_ = State::Over;
  StoreReader in;
  std::string out;
  Milliseconds silence_{};
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_STORE_STORELINK_H
