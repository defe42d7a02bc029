// TLS 1.3 between two processes of a job, which know the same secret.

#ifndef ETC_RUNTIME_CORE_NET_TLSSESSION_H
#define ETC_RUNTIME_CORE_NET_TLSSESSION_H

#include "core/net/Secret.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

struct bio_st; // of OpenSSL
struct ssl_st;

namespace etc::runtime {

enum class TlsSide { Connecting, Accepting };

/// What a connection carries once it is secured. The secret is an external
/// pre-shared key (RFC 8446, 4.2.11): there are no certificates, both sides
/// prove that they know it, keys are fresh, and whatever was recorded is of no
/// use later. The handshake is part of the first calls.
///
/// Who connects can't tell which process of the job it has reached: what is
/// said first has to name both (RFC 9257, 4.1).
class TlsSession {
public:
  /// The descriptor is not owned, and does not block.
  TlsSession(int fd, TlsSide side, const Secret &secret);
  TlsSession(const TlsSession &) = delete;
  TlsSession &operator=(const TlsSession &) = delete;

  /// As Socket's. What was to be written and was not has to come first again.
  /// What one read() leaves may be here and not in the descriptor: read until
  /// there is nothing.
  std::optional<size_t> write(std::span<const std::byte> bytes);
  std::optional<size_t> read(std::span<std::byte> bytes);
  /// Whether the peer has proved that it knows the secret. Nothing can be sent
  /// before.
  bool isOpen() const;
  /// Whether the connection ended before that, without a word of the peer's: it
  /// may have had too many, so one may connect again.
  bool isCutOff() const { return isGone_ && !isOpen(); }
  /// Whether it ended so at any time.
  bool isGone() const { return isGone_; }
  /// Whether it failed because the two sides do not know the same secret.
  bool isOfAnotherSecret() const { return isOfAnotherSecret_; }

protected:
  struct Free {
    void operator()(ssl_st *session) const;
  };

  explicit TlsSession(const Secret &secret);
  /// Bytes come from one and go to the other, or the same. Owns them; null is
  /// out of memory, which ends the connection.
  void begin(bio_st *from, bio_st *to, TlsSide side);

  std::unique_ptr<ssl_st, Free> session;

private:
  std::optional<size_t> conclude(int result, size_t count);

  const Secret secret; // that OpenSSL asks for
  bool hasFailed = false, isGone_ = false, isOfAnotherSecret_ = false;
};

/// In a process whose new-handler ends it: the handler is also called where TLS
/// finds no memory, which would look like a peer that is gone. Before the first
/// session.
void letNewHandlerServeTls();

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_NET_TLSSESSION_H
