// TLS 1.3 for bytes that somebody else carries.

#ifndef ETC_RUNTIME_CORE_NET_TLSCODEC_H
#define ETC_RUNTIME_CORE_NET_TLSCODEC_H

#include "core/net/TlsSession.h"
#include "core/plan/Status.h"

#include <string>
#include <string_view>

namespace etc::runtime {

/// One side of a session whose connection an event loop has. After every call,
/// whatever it returned, take() has what must be passed to the peer.
class TlsCodec : private TlsSession {
public:
  TlsCodec(TlsSide side, const Secret &secret);

  using TlsSession::isOpen;
  /// What the peer said in bytes that came. The errors end the session: of kind
  /// Peer if the two sides know different secrets, and otherwise Malformed.
  plan::Result<std::string> receive(std::string_view came);
  /// Once it is open.
  plan::Status send(std::string_view said);
  std::string take();
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_NET_TLSCODEC_H
