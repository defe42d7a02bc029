//===- MigrationHandle.h - A migration, with its Python callbacks ---------===//

#ifndef ETC_LIB_BINDINGS_MIGRATIONHANDLE_H
#define ETC_LIB_BINDINGS_MIGRATIONHANDLE_H

#include "Support.h"

namespace etc::python {

struct PlanHandle {
  PlanPointer plan;
};

/// Adds the class to the module.
void defineMigration(nb::module_ &m);

/// The migration of such an object, as long as that is open.
const etc_migration *migrationOf(nb::handle migration);

} // namespace etc::python

#endif // ETC_LIB_BINDINGS_MIGRATIONHANDLE_H
