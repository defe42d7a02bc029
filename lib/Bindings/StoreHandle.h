//===- StoreHandle.h - A store in a job's processes -----------------------===//

#ifndef ETC_LIB_BINDINGS_STOREHANDLE_H
#define ETC_LIB_BINDINGS_STOREHANDLE_H

#include "Support.h"

namespace etc::python {

/// Adds the class to the module.
void defineStore(nb::module_ &m);

} // namespace etc::python

#endif // ETC_LIB_BINDINGS_STOREHANDLE_H
