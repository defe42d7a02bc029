#include "job/PeerChannel.h"

#include "transport/Control.h"

#include <algorithm>
#include <cstring>

using namespace etc::runtime;

constexpr uint32_t kGoodbye = ~uint32_t{0}, kGivingUp = kGoodbye - 1;

static std::string bytesOf(uint32_t length) {
  return {reinterpret_cast<const char *>(&length), sizeof length};
}

void PeerChannel::add(std::string_view message) {
  out += bytesOf(static_cast<uint32_t>(message.size()));
  out += message;
}
void PeerChannel::addGoodbye() { out += bytesOf(kGoodbye); }
void PeerChannel::addGivingUp(std::string_view cause) {
  out += bytesOf(kGivingUp);
  add(cause.substr(0, Control::kMostCauseBytes));
}

void PeerChannel::flush() {
  if (end_ == End::None && !socket.send(out))
    end_ = End::Lost;
}

void PeerChannel::receive() {
  if (end_ != End::None)
    return;
  const bool isOpen = socket.receive(in);
  parse();
  if (!isOpen && end_ == End::None)
    end_ = End::Lost;
}

size_t PeerChannel::mostBytes() const {
  return isGivingUp ? Control::kMostCauseBytes : Control::kMostBytes;
}

void PeerChannel::giveUp(std::string cause) {
  end_ = End::GaveUp;
  cause_ = std::move(cause);
  // One line, whatever came.
  std::replace_if(
      cause_.begin(), cause_.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
}

void PeerChannel::parse() {
  size_t at = 0;
  uint32_t length;
  while (end_ == End::None && in.size() - at >= sizeof length) {
    std::memcpy(&length, in.data() + at, sizeof length);
    if (length == kGivingUp) {
      at += sizeof length;
      isGivingUp = true;
    } else if (length > mostBytes()) {
      end_ = length == kGoodbye && !isGivingUp ? End::Left : End::Lost;
    } else {
      if (in.size() - at - sizeof length < length)
        break;
      std::string message = in.substr(at + sizeof length, length);
      if (isGivingUp)
        giveUp(std::move(message));
      else
        inbox.push_back(std::move(message));
      at += sizeof length + length;
    }
  }
  in.erase(0, at);
}
