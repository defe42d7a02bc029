#include "job/PeerChannel.h"

#include "core/transport/Control.h"
#include "job/Bytes.h"

using namespace etc::runtime;

namespace {

struct Header {
  uint32_t length; // or a signal
  uint32_t generation;
};

constexpr uint32_t kGoodbye = ~uint32_t{0}, kGivingUp = kGoodbye - 1,
                   kBeat = kGoodbye - 2, kDecision = kGoodbye - 3;
static_assert(Control::kMostBytes < kDecision);

constexpr uint32_t kNobody = ~uint32_t{0};

} // namespace

void PeerChannel::add(std::string_view message) {
  putBytes(out, Header{static_cast<uint32_t>(message.size()), generation});
  out += message;
}
void PeerChannel::addSignal(uint32_t signal) {
  putBytes(out, Header{signal, generation});
}
void PeerChannel::addBeat() { addSignal(kBeat); }
void PeerChannel::addDecision() { addSignal(kDecision); }
void PeerChannel::addGoodbye() { addSignal(kGoodbye); }
void PeerChannel::addGivingUp(const Failure &failure) {
  addSignal(kGivingUp);
  std::string why;
  putBytes(why, failure.excluded.value_or(kNobody));
  add(why + failure.cause.substr(0, Control::kMostCauseBytes));
}

void PeerChannel::flush() {
  if (!isListening() || socket.send(out))
    return;
  out.clear();
  while (receive())
    ;
  if (end_ == End::None)
    end_ = End::Lost;
}

bool PeerChannel::receive() {
  if (end_ != End::None)
    return false;
  const size_t before = in.size();
  const bool isOpen = socket.receive(in);
  const bool hasCome = in.size() != before;
  if (hasCome)
    silence_ = silence_.zero();
  parse();
  if (!isOpen && end_ == End::None)
    end_ = End::Lost;
  return hasCome;
}

size_t PeerChannel::mostBytes() const {
  return isGivingUp ? Control::kMostCauseBytes + sizeof kNobody
                    : Control::kMostBytes;
}

void PeerChannel::handleSignal(uint32_t signal) {
  if (signal == kGivingUp)
    isGivingUp = true;
  else if (signal == kDecision)
    isDecided_ = true;
  else if (signal == kGoodbye && !isGivingUp)
    end_ = End::Left;
  else if (signal != kBeat)
    end_ = End::Lost;
}

void PeerChannel::handleMessage(std::string message) {
  if (!isGivingUp)
    return inbox.push_back(std::move(message));
  uint32_t excluded = kNobody;
  ByteReader in(message);
  end_ = in.take(excluded) ? End::GaveUp : End::Lost;
  if (end_ == End::Lost)
    return;
  if (excluded != kNobody)
    failure_.excluded = excluded;
  failure_.cause = oneLine(in.rest);
}

void PeerChannel::parse() {
  size_t at = 0;
  Header header;
  while (end_ == End::None && in.size() - at >= sizeof header) {
    std::memcpy(&header, in.data() + at, sizeof header);
    hasSpoken = true;
    if (header.generation != generation) {
      end_ = End::Lost;
    } else if (header.length > mostBytes()) {
      handleSignal(header.length);
      at += sizeof header;
    } else {
      if (in.size() - at - sizeof header < header.length)
        break;
      handleMessage(in.substr(at + sizeof header, header.length));
      at += sizeof header + header.length;
    }
  }
  in.erase(0, at);
}
