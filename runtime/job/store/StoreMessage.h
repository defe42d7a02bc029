// What the processes of a job's store say to each other, inside TLS.

#ifndef ETC_RUNTIME_JOB_STORE_STOREMESSAGE_H
#define ETC_RUNTIME_JOB_STORE_STOREMESSAGE_H

#include "core/plan/Status.h"
#include "job/Membership.h"

#include <optional>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Result;
using plan::Status;
using plan::text;

enum class StoreKind : uint8_t {
  Join = 1, // first on each connection: `term`, `flag` (a HubState), itself
  Members,  // `term`, `flag`: the hub is open; `number`: the receiver's, or 0
            // where the sender is not the hub
  Put,      // sets a value; `number`: its order, 0 where it has none yet
  Stored,   // a Put's order
  First,    // sets a key that has no value yet
  Learn,    // the choice of the hub of `term` for such a key: keep it, and
            // answer with the same `number`
  Have,     // the answer
  Decided,  // all that are connected have it, so it is final
  Known,    // to a new hub: such a key, with the `term` of the hub that chose;
            // `flag`: it is final
  Ready,    // to a new hub: it knows now all that this process does
  Get,      // `number`: the request; `flag`: wait for the value
  Value,    // of a request; `flag`: there is one
  Drop,     // a request that nobody waits for any more
  Beat,     // alive
  Leave,    // in order
};
constexpr auto kLastStoreKind = StoreKind::Leave;

/// What a process that joins is itself: two of them may both think that they
/// are the hub.
enum class HubState : uint8_t { None, NeverOpen, WasOpen };

struct StoreMessage {
  StoreKind kind = StoreKind::Beat;
  uint8_t flag = 0;
  uint64_t term = 0, number = 0;
  std::string key, value;
  Membership members;

  bool operator==(const StoreMessage &) const = default;
};

/// One that is about a value.
StoreMessage storeMessage(StoreKind kind, const std::string &key,
                          const std::string &value, uint64_t number = 0,
                          bool flag = false);

/// The largest values are plans.
constexpr uint32_t kMostStoreBytes = 1 << 26;
constexpr uint32_t kMostKeyBytes = 4096;

/// A length of four bytes, and the message.
std::string formatStoreMessage(const StoreMessage &message);

/// Cuts a stream into messages.
class StoreReader {
public:
  std::string &buffer() { return bytes; }
  /// The next message, if it is complete. The error is of kind Malformed; the
  /// stream is of no more use.
  Result<std::optional<StoreMessage>> next();

private:
  std::string bytes;
  size_t at = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_STORE_STOREMESSAGE_H
