// TLS for a program's own connections through the C API.

#include "capi/Handles.h"

#include "core/net/TlsCodec.h"

#include "etc-c/tls.h"

using namespace etc::runtime;

struct etc_tls {
  TlsCodec codec;
};

static std::string_view viewOf(const void *data, size_t size) {
  return {static_cast<const char *>(data), size};
}

extern "C" {

etc_error *etc_tls_new(const char *token, etc_tls_side side, etc_tls **tls) {
  return guarded([&]() -> Status {
    if (!token || !tls)
      return Status(ErrorKind::Usage, "etc_tls_new: an argument is NULL");
    auto secret = makeSecret(token);
    if (!secret)
      return secret.status();
    *tls = new etc_tls{
        {side == ETC_TLS_ACCEPT ? TlsSide::Accepting : TlsSide::Connecting,
         *secret}};
    return Status::success();
  });
}

int etc_tls_is_open(const etc_tls *tls) { return tls->codec.isOpen(); }

etc_error *etc_tls_receive(etc_tls *tls, const void *data, size_t size,
                           etc_value *said) {
  return guarded([&]() -> Status {
    auto heard = tls->codec.receive(viewOf(data, size));
    if (!heard)
      return heard.status();
    said->bytes = std::move(*heard);
    return Status::success();
  });
}

etc_error *etc_tls_send(etc_tls *tls, const void *data, size_t size) {
  return guarded([&] { return tls->codec.send(viewOf(data, size)); });
}

void etc_tls_take(etc_tls *tls, etc_value *bytes) {
  bytes->bytes = tls->codec.take();
}

void etc_tls_free(etc_tls *tls) { delete tls; }
}
