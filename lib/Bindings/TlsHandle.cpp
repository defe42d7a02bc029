//===- TlsHandle.cpp - TLS for connections of Python's --------------------===//

#include "TlsHandle.h"

#include "etc-c/tls.h"

using namespace etc::python;

namespace {

class TlsHandle {
public:
  TlsHandle(const std::string &token, bool accepts) {
    check(etc_tls_new(token.c_str(), accepts ? ETC_TLS_ACCEPT : ETC_TLS_CONNECT,
                      &tls));
  }
  TlsHandle(const TlsHandle &) = delete;
  TlsHandle &operator=(const TlsHandle &) = delete;
  ~TlsHandle() { etc_tls_free(tls); }

  bool isOpen() const { return etc_tls_is_open(tls) != 0; }

  nb::bytes receive(nb::bytes came) {
    const Value said(etc_value_new());
    check(etc_tls_receive(tls, came.c_str(), came.size(), said.get()));
    return bytesOf(said);
  }
  void send(nb::bytes said) {
    check(etc_tls_send(tls, said.c_str(), said.size()));
  }
  nb::bytes take() {
    const Value bytes(etc_value_new());
    etc_tls_take(tls, bytes.get());
    return bytesOf(bytes);
  }

private:
  etc_tls *tls = nullptr;
};

} // namespace

void etc::python::defineTls(nb::module_ &m) {
  nb::class_<TlsHandle>(m, "Tls")
      .def(nb::init<const std::string &, bool>(), nb::arg("token"),
           nb::arg("accepts"))
      .def_prop_ro("is_open", &TlsHandle::isOpen)
      .def("receive", &TlsHandle::receive)
      .def("send", &TlsHandle::send)
      .def("take", &TlsHandle::take);
}
