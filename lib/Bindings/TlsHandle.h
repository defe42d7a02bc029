//===- TlsHandle.h - TLS for connections of Python's ------------*- C++ -*-===//

#ifndef ETC_LIB_BINDINGS_TLSHANDLE_H
#define ETC_LIB_BINDINGS_TLSHANDLE_H

#include "Support.h"

namespace etc::python {

void defineTls(nb::module_ &m);

} // namespace etc::python

#endif // ETC_LIB_BINDINGS_TLSHANDLE_H
