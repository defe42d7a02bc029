#include "job/store/StoreMessage.h"

using namespace etc::runtime;

namespace {

/// What everything but keys, values and members takes, and a little more.
constexpr uint32_t kFixedBytes = 64;
constexpr uint32_t kMostFrameBytes =
    kMostStoreBytes + kMostKeyBytes + kFixedBytes;
/// Between two of which consumed bytes are dropped.
constexpr size_t kCompactBytes = 1 << 16;

std::optional<StoreMessage> parse(std::string_view bytes) {
  ByteReader in(bytes);
  StoreMessage message;
  uint8_t kind = 0;
  in.take(kind);
  in.take(message.flag);
  in.take(message.term);
  in.take(message.number);
  in.take(message.key, kMostKeyBytes);
  in.take(message.value, kMostStoreBytes);
  message.members = takeMembership(in);
  if (!in.isGood || !in.rest.empty() || kind == 0 ||
      kind > static_cast<uint8_t>(kLastStoreKind))
    return std::nullopt;
  message.kind = static_cast<StoreKind>(kind);
  return message;
}

} // namespace

StoreMessage etc::runtime::storeMessage(StoreKind kind, const std::string &key,
                                        const std::string &value,
                                        uint64_t number, bool flag) {
  StoreMessage message;
  message.kind = kind;
  message.key = key;
  message.value = value;
  message.number = number;
  message.flag = flag;
  return message;
}

std::string etc::runtime::formatStoreMessage(const StoreMessage &message) {
  std::string body;
  putBytes(body, message.kind);
  putBytes(body, message.flag);
  putBytes(body, message.term);
  putBytes(body, message.number);
  putText(body, message.key);
  putText(body, message.value);
  putMembership(body, message.members);
  std::string frame;
  putBytes(frame, static_cast<uint32_t>(body.size()));
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
