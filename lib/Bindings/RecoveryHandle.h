//===- RecoveryHandle.h - A recovery, with its Python callbacks -----------===//

#ifndef ETC_LIB_BINDINGS_RECOVERYHANDLE_H
#define ETC_LIB_BINDINGS_RECOVERYHANDLE_H

#include "Support.h"

namespace etc::python {

/// Adds the class to the module.
void defineRecovery(nb::module_ &m);

} // namespace etc::python

#endif // ETC_LIB_BINDINGS_RECOVERYHANDLE_H
