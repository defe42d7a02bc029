// A connection to one peer: messages out of and into a stream.

#ifndef ETC_RUNTIME_JOB_PEERCHANNEL_H
#define ETC_RUNTIME_JOB_PEERCHANNEL_H

#include "job/Socket.h"

#include <deque>

namespace etc::runtime {

/// A message is its length, four bytes, and its bytes. Two lengths that no
/// message has say that the peer has left in order, or has given up: then a
/// message that says why follows.
class PeerChannel {
public:
  enum class End { None, Left, GaveUp, Lost };

  /// `received` has come already.
  explicit PeerChannel(Socket socket, std::string received = {})
      : socket(std::move(socket)), in(std::move(received)) {
    parse();
  }

  void add(std::string_view message);
  void addGoodbye();
  void addGivingUp(std::string_view cause);
  /// Sends what the connection takes now.
  void flush();
  /// Takes in what has come.
  void receive();

  bool hasUnsent() const { return !out.empty(); }
  /// Messages that came before the end count.
  std::deque<std::string> inbox;
  End end() const { return end_; }
  /// Why the peer gave up, in one line; empty where it did not say.
  const std::string &cause() const { return cause_; }
  int fd() const { return socket.fd(); }

private:
  void parse();
  void giveUp(std::string cause);
  size_t mostBytes() const;

  Socket socket;
  std::string in, out, cause_;
  bool isGivingUp = false; // it is about to say why
  End end_ = End::None;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_PEERCHANNEL_H
