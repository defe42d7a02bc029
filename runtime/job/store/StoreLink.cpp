#include "job/store/StoreLink.h"

#include <cerrno>

using namespace etc::runtime;

/// So much is read before others get a turn.
constexpr size_t kTurnBytes = 1 << 22;

StoreLink::StoreLink(const std::string &address, const Secret &secret)
    : secret(secret) {
  const Result<Address> where = parseAddress(address);
  Result<Socket> begun = where ? beginConnect(*where) : where.status();
  if (!begun)
    return;
  socket = std::move(*begun);
  state_ = State::Connecting;
}

StoreLink::StoreLink(Socket accepted, const Secret &secret)
    : socket(std::move(accepted)), secret(secret), state_(State::Open) {
  socket.secure(TlsSide::Accepting, secret);
}

void StoreLink::connect() {
  const int error = connectError(socket);
  if (error == EINPROGRESS)
    return;
  if (error != 0) {
    state_ = error == ECONNREFUSED ? State::Refused : State::Over;
    return;
  }
  socket.secure(TlsSide::Connecting, secret);
  state_ = State::Open;
}

void StoreLink::send(const StoreMessage &message) {
  if (isOver())
    return;
  out += formatStoreMessage(message);
  flush();
}

void StoreLink::flush() {
  if (state_ == State::Connecting)
    connect();
  if (state_ == State::Open && !out.empty() && !socket.send(out))
    state_ = State::Over;
}

void StoreLink::receive(Milliseconds time) {
  silence_ += time;
  if (state_ == State::Connecting)
    connect();
  if (state_ != State::Open)
    return;
  const size_t before = in.buffer().size();
  bool isOpen = true;
  for (size_t size = before, last = size + 1;
       isOpen && size != last && size - before < kTurnBytes;) {
    last = size;
    isOpen = socket.receive(in.buffer());
    size = in.buffer().size();
  }
  if (in.buffer().size() != before)
    silence_ = silence_.zero();
  if (!isOpen)
    state_ = State::Over;
  flush();
}

std::optional<StoreMessage> StoreLink::next() {
  Result<std::optional<StoreMessage>> message = in.next();
  if (message)
    return std::move(*message);
  state_ = State::Over;
  return std::nullopt;
}

pollfd StoreLink::entry() const {
  const bool isWaiting =
      state_ == State::Connecting || (!out.empty() && socket.isReady());
  return {socket.fd(),
          static_cast<short>(isWaiting ? POLLIN | POLLOUT : POLLIN), 0};
}
