#include "core/transport/Strangers.h"

#include "core/plan/SystemError.h"

#include <cerrno>

using namespace etc::runtime;

Status Strangers::take(const Socket &listener, const Secret *secret) {
  Socket socket = accept(listener);
  if (socket.isOpen())
    add(std::move(socket), secret);
  else if (plan::isOutOfDescriptors(errno))
    return Status(plan::ErrorKind::Usage,
                  "cannot take the connections of other devices: " +
                      plan::describeSystemError(errno));
  return Status::success();
}

void Strangers::add(Socket socket, const Secret *secret) {
  if (secret)
    socket.secure(TlsSide::Accepting, *secret);
  list.push_back({std::move(socket), {}, time});
}

bool Strangers::receive(Stranger &stranger) const {
  if (!isRestLeft)
    return stranger.socket.receive(stranger.said);
  std::string next(bytes - stranger.said.size(), '\0');
  const auto count =
      stranger.socket.read(std::as_writable_bytes(std::span(next)));
  stranger.said.append(next, 0, count.value_or(0));
  return count.has_value();
}

void Strangers::hear(const Judge &judge) {
  std::erase_if(list, [&](Stranger &stranger) {
    const bool isOpen = receive(stranger);
    return (stranger.said.size() >= bytes &&
            judge(stranger.socket, stranger.said)) ||
           !isOpen || stranger.deadline.isOver();
  });
  while (list.size() > kMostStrangers)
    list.pop_front();
}

void Strangers::addEntries(std::vector<pollfd> &entries) const {
  for (const Stranger &stranger : list)
    entries.push_back({stranger.socket.fd(), POLLIN, 0});
}
