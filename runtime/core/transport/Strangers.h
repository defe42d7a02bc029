// Connections that have not said who they are.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_STRANGERS_H
#define ETC_RUNTIME_CORE_TRANSPORT_STRANGERS_H

#include "core/net/Socket.h"
#include "core/transport/Deadline.h"

#include <functional>
#include <list>
#include <poll.h>
#include <vector>

namespace etc::runtime {

/// So many may there be at once. When there are more, the oldest one goes: a
/// process of the job says so at once.
constexpr size_t kMostStrangers = 256;
/// So long each may take to say it.
constexpr Milliseconds kStrangersTime{10000};

/// Whoever connects says first who it is, in so many bytes, and is judged by
/// that.
class Strangers {
public:
  /// What comes behind these bytes is read as well, unless `isRestLeft`.
  explicit Strangers(size_t bytes, bool isRestLeft = false,
                     Milliseconds time = kStrangersTime)
      : bytes(bytes), isRestLeft(isRestLeft), time(time) {}

  /// Takes a connection that waits, if there is one. With a secret, only who
  /// knows it is heard. The error, of kind Usage, is that descriptors run out.
  Status take(const Socket &listener, const Secret *secret);
  void add(Socket socket, const Secret *secret);

  /// Judges who has said enough, with all that came: true where it is no
  /// stranger any more.
  using Judge = std::function<bool(Socket &socket, const std::string &said)>;
  void hear(const Judge &judge);

  bool isEmpty() const { return list.empty(); }
  void addEntries(std::vector<pollfd> &entries) const;

private:
  struct Stranger {
    Socket socket;
    std::string said;
    Deadline deadline;
  };

  bool receive(Stranger &stranger) const;

  const size_t bytes;
  const bool isRestLeft;
  const Milliseconds time;
  std::list<Stranger> list;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_STRANGERS_H
