#include "core/net/TlsCodec.h"

#include <array>
#include <openssl/bio.h>
#include <openssl/ssl.h>

using namespace etc::runtime;
using etc::plan::ErrorKind;
using etc::plan::Result;
using etc::plan::Status;

TlsCodec::TlsCodec(TlsSide side, const Secret &secret) : TlsSession(secret) {
  begin(BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()), side);
}

Result<std::string> TlsCodec::receive(std::string_view came) {
  size_t count = 0;
  const bool isHere =
      session && BIO_write_ex(SSL_get_rbio(session.get()), came.data(),
                              came.size(), &count) == 1;
  if (!isHere && !came.empty())
    return Status(ErrorKind::Usage, "out of memory for a TLS session");
  std::string said;
  std::array<std::byte, 1 << 14> record;
  while (std::optional<size_t> size = read(record)) {
    if (*size == 0)
      return said;
    said.append(reinterpret_cast<const char *>(record.data()), *size);
  }
  if (isOfAnotherSecret())
    return Status(ErrorKind::Peer, "the peer does not know this secret");
  return Status(ErrorKind::Malformed,
                isGone() ? "the peer has ended the session"
                         : "what came is not TLS 1.3 with a shared secret");
}

Status TlsCodec::send(std::string_view said) {
  if (!isOpen())
    return Status(ErrorKind::Usage, "the peer has not proved yet that it knows "
                                    "the secret");
  while (!said.empty()) {
    const std::optional<size_t> size =
        write(std::as_bytes(std::span(said.data(), said.size())));
    if (!size || *size == 0)
      return Status(ErrorKind::Peer, "the session has ended");
    said.remove_prefix(*size);
  }
  return Status::success();
}

std::string TlsCodec::take() {
  std::string bytes;
  if (!session)
    return bytes;
  BIO *to = SSL_get_wbio(session.get());
  bytes.resize(BIO_ctrl_pending(to));
  size_t count = 0;
  if (!bytes.empty())
    BIO_read_ex(to, bytes.data(), bytes.size(), &count);
  bytes.resize(count);
  return bytes;
}
