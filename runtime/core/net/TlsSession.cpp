#include "core/net/TlsSession.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

using namespace etc::runtime;

namespace {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// As operator new has it: the handler finds some, or does not return.
template <typename Allocate> void *insist(Allocate allocate, size_t size) {
  while (true) {
    void *memory = allocate();
    if (memory || size == 0)
      return memory;
    const std::new_handler handler = std::get_new_handler();
    if (!handler)
      return nullptr;
    handler();
  }
}

void *allocate(size_t size, const char *, int) {
  return insist([&] { return std::malloc(size); }, size);
}

void *reallocate(void *memory, size_t size, const char *, int) {
  return insist([&] { return std::realloc(memory, size); }, size);
}

void release(void *memory, const char *, int) { std::free(memory); }

//===----------------------------------------------------------------------===//
// The secret
//===----------------------------------------------------------------------===//

/// Everybody who knows the secret has this name.
constexpr unsigned char kIdentity[] = {'e', 't', 'c'};
constexpr unsigned char kAes128GcmSha256[] = {0x13, 0x01};

/// The session that the secret stands for, which the caller owns.
SSL_SESSION *makeSession(SSL *ssl) {
  const auto *secret = static_cast<const Secret *>(SSL_get_app_data(ssl));
  const auto *key = reinterpret_cast<const unsigned char *>(&secret->bytes);
  SSL_SESSION *made = SSL_SESSION_new();
  if (made &&
      SSL_SESSION_set1_master_key(made, key, secret->bytes.size()) == 1 &&
      SSL_SESSION_set_cipher(made, SSL_CIPHER_find(ssl, kAes128GcmSha256)) ==
          1 &&
      SSL_SESSION_set_protocol_version(made, TLS1_3_VERSION) == 1)
    return made;
  SSL_SESSION_free(made);
  return nullptr;
}

int offerSecret(SSL *ssl, const EVP_MD *, const unsigned char **identity,
                size_t *size, SSL_SESSION **session) {
  *identity = kIdentity;
  *size = sizeof kIdentity;
  *session = makeSession(ssl);
  return *session ? 1 : 0;
}

int findSecret(SSL *ssl, const unsigned char *identity, size_t size,
               SSL_SESSION **session) {
  const bool isKnown =
      size == sizeof kIdentity && std::memcmp(identity, kIdentity, size) == 0;
  *session = isKnown ? makeSession(ssl) : nullptr;
  return 1; // without a session there is nothing that the peer can prove
}

/// Of all sessions, to the end of the process.
SSL_CTX *makeContext() {
  // Threads may still use it while the process ends, and a file of the host's
  // has no say in what the processes of a job speak.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_NO_LOAD_CONFIG,
                   nullptr);
  SSL_CTX *context = SSL_CTX_new(TLS_method());
  if (!context)
    return nullptr;
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_psk_use_session_callback(context, offerSecret);
  SSL_CTX_set_psk_find_session_callback(context, findSecret);
  return context;
}

//===----------------------------------------------------------------------===//
// The descriptor: OpenSSL's own would raise SIGPIPE
//===----------------------------------------------------------------------===//

int descriptorOf(BIO *bio) {
  return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
}

bool isPassing() { return errno == EAGAIN || errno == EINTR; }

int writeBytes(BIO *bio, const char *bytes, int size) {
  const ssize_t count =
      ::send(descriptorOf(bio), bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
  BIO_clear_retry_flags(bio);
  if (count < 0 && isPassing())
    BIO_set_retry_write(bio);
  return static_cast<int>(count);
}

int readBytes(BIO *bio, char *bytes, int size) {
  const ssize_t count =
      ::recv(descriptorOf(bio), bytes, static_cast<size_t>(size), 0);
  BIO_clear_retry_flags(bio);
  if (count < 0 && isPassing())
    BIO_set_retry_read(bio);
  return static_cast<int>(count);
}

/// Nothing is held back, so nothing is left to flush.
long control(BIO *, int command, long, void *) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD *makeMethod() {
  BIO_METHOD *method =
      BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "etc socket");
  if (!method)
    return nullptr;
  BIO_meth_set_write(method, writeBytes);
  BIO_meth_set_read(method, readBytes);
  BIO_meth_set_ctrl(method, control);
  return method;
}

BIO *makeBio(int fd) {
  static BIO_METHOD *method = makeMethod();
  BIO *bio = method ? BIO_new(method) : nullptr;
  if (bio) {
    BIO_set_data(bio, reinterpret_cast<void *>(static_cast<intptr_t>(fd)));
    BIO_set_init(bio, 1);
  }
  return bio;
}

/// Whether the session goes on where a call has done nothing.
bool goesOn(SSL *session, int result) {
  const int error = SSL_get_error(session, result);
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

/// Whether a call failed because the connection is gone, and not because of
/// what the peer said.
bool hasEnded(SSL *session, int result) {
  const int error = SSL_get_error(session, result);
  return error == SSL_ERROR_SYSCALL || error == SSL_ERROR_ZERO_RETURN ||
         ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

/// Whether a call failed because one side could not verify what the other made
/// with its secret.
bool isMismatch() {
  const int reason = ERR_GET_REASON(ERR_peek_error());
  return reason == SSL_R_BINDER_DOES_NOT_VERIFY ||
         reason == SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER;
}

} // namespace

void etc::runtime::letNewHandlerServeTls() {
  CRYPTO_set_mem_functions(allocate, reallocate, release);
}

void TlsSession::Free::operator()(ssl_st *session) const { SSL_free(session); }

TlsSession::TlsSession(const Secret &given) : secret(given) {
  static SSL_CTX *context = makeContext();
  session.reset(context ? SSL_new(context) : nullptr);
}

TlsSession::TlsSession(int fd, TlsSide side, const Secret &given)
    : TlsSession(given) {
  BIO *bio = session ? makeBio(fd) : nullptr;
  begin(bio, bio, side);
}

void TlsSession::begin(bio_st *from, bio_st *to, TlsSide side) {
  if (!session || !from || !to) {
    BIO_free(from);
    if (to != from)
      BIO_free(to);
    session.reset();
    return;
  }
  SSL_set_bio(session.get(), from, to);
  SSL_set_app_data(session.get(), const_cast<Secret *>(&secret));
  if (side == TlsSide::Accepting) {
    SSL_set_accept_state(session.get());
  } else {
    SSL_set_connect_state(session.get());
    // What it begins with fits an empty buffer.
    ERR_clear_error();
    (void)goesOn(session.get(), SSL_do_handshake(session.get()));
  }
}

std::optional<size_t> TlsSession::read(std::span<std::byte> bytes) {
  size_t count = 0;
  ERR_clear_error();
  if (!session)
    return std::nullopt;
  const int result =
      SSL_read_ex(session.get(), bytes.data(), bytes.size(), &count);
  return conclude(result, count);
}

std::optional<size_t> TlsSession::write(std::span<const std::byte> bytes) {
  size_t count = 0;
  ERR_clear_error();
  if (!session)
    return std::nullopt;
  const int result =
      SSL_write_ex(session.get(), bytes.data(), bytes.size(), &count);
  return conclude(result, count);
}

std::optional<size_t> TlsSession::conclude(int result, size_t count) {
  if (result > 0 || goesOn(session.get(), result))
    return count;
  if (!hasFailed) {
    isGone_ = hasEnded(session.get(), result);
    isOfAnotherSecret_ = isMismatch();
  }
  hasFailed = true;
  return std::nullopt;
}

bool TlsSession::isOpen() const {
  return session && SSL_is_init_finished(session.get());
}
