#include "job/store/StoreMessage.h"

#include <cstring>

using namespace etc::runtime;

namespace {

/// What everything but keys, values and members takes, and a little more.
constexpr uint32_t kFixedBytes = 64;
constexpr uint32_t kMostFrameBytes =
    kMostStoreBytes + kMostKeyBytes + kFixedBytes;
/// Between two of which consumed bytes are dropped.
constexpr size_t kCompactBytes = 1 << 16;

template <typename T> void put(std::string &out, T value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof value);
}

void putText(std::string &out, std::string_view value) {
  put(out, static_cast<uint32_t>(value.size()));
  out += value;
}

/// Takes values off the front; after one that is not there, all fail.
class Taker {
public:
  explicit Taker(std::string_view bytes) : rest(bytes) {}

  template <typename T> void take(T &value) {
    if (!(isGood = isGood && rest.size() >= sizeof value))
      return;
    std::memcpy(&value, rest.data(), sizeof value);
    rest.remove_prefix(sizeof value);
  }

  void take(std::string &value, uint32_t most) {
    uint32_t size = 0;
    take(size);
    if (!(isGood = isGood && size <= most && size <= rest.size()))
      return;
    value = rest.substr(0, size);
    rest.remove_prefix(size);
  }

  bool isGood = true;
  std::string_view rest;
};

void takeMembers(Taker &in, std::vector<StoreMember> &members) {
  uint32_t count = 0;
  in.take(count);
  in.isGood = in.isGood && count <= kMostMembers;
  for (uint32_t i = 0; in.isGood && i != count; ++i) {
    StoreMember member;
    in.take(member.number);
    in.take(member.process);
    in.take(member.device);
    in.take(member.address, kMostKeyBytes);
    members.push_back(std::move(member));
  }
}

std::optional<StoreMessage> parse(std::string_view bytes) {
  Taker in(bytes);
  StoreMessage message;
  uint8_t kind = 0;
  in.take(kind);
  in.take(message.flag);
  in.take(message.term);
  in.take(message.number);
  in.take(message.hub);
  in.take(message.key, kMostKeyBytes);
  in.take(message.value, kMostStoreBytes);
  takeMembers(in, message.members);
  if (!in.isGood || !in.rest.empty() || kind == 0 ||
      kind > static_cast<uint8_t>(kLastStoreKind))
    return std::nullopt;
  message.kind = static_cast<StoreKind>(kind);
  return message;
}

} // namespace

std::string etc::runtime::formatStoreMessage(const StoreMessage &message) {
  std::string body;
  put(body, message.kind);
  put(body, message.flag);
  put(body, message.term);
  put(body, message.number);
  put(body, message.hub);
  putText(body, message.key);
  putText(body, message.value);
  put(body, static_cast<uint32_t>(message.members.size()));
  for (const StoreMember &member : message.members) {
    put(body, member.number);
    put(body, member.process);
    put(body, member.device);
    putText(body, member.address);
  }
  std::string frame;
  put(frame, static_cast<uint32_t>(body.size()));
  return frame += body;
}

Result<std::optional<StoreMessage>> StoreReader::next() {
  using Next = std::optional<StoreMessage>;
  const std::string_view rest = std::string_view(bytes).substr(at);
  uint32_t length = 0;
  if (rest.size() >= sizeof length)
    std::memcpy(&length, rest.data(), sizeof length);
  if (length > kMostFrameBytes)
    return plan::malformed("a message of ", length, " bytes, at most ",
                           kMostFrameBytes, " are allowed");
  if (rest.size() < sizeof length || rest.size() - sizeof length < length) {
    bytes.erase(0, at);
    at = 0;
    return Next();
  }
  Next message = parse(rest.substr(sizeof length, length));
  if (!message)
    return plan::malformed("a message of ", length, " bytes that is none");
  at += sizeof length + length;
  if (at >= kCompactBytes) {
    bytes.erase(0, at);
    at = 0;
  }
  return message;
}
