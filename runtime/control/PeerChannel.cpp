#include "control/PeerChannel.h"

#include "transport/Control.h"

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
void PeerChannel::addGivingUp() { out += bytesOf(kGivingUp); }

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

void PeerChannel::parse() {
  size_t at = 0;
  uint32_t length;
  while (end_ == End::None && in.size() - at >= sizeof length) {
    std::memcpy(&length, in.data() + at, sizeof length);
    if (length > Control::kMostBytes) {
      end_ = length == kGoodbye    ? End::Left
             : length == kGivingUp ? End::GaveUp
                                   : End::Lost;
    } else {
      if (in.size() - at - sizeof length < length)
        break;
      inbox.push_back(in.substr(at + sizeof length, length));
      at += sizeof length + length;
    }
  }
  in.erase(0, at);
}
