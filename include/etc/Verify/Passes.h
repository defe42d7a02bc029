//===- Passes.h - The proof of a plan -------------------------------------===//

#ifndef ETC_VERIFY_PASSES_H
#define ETC_VERIFY_PASSES_H

#include "etc/Verify/MigrationPass.h"

namespace etc {

#define GEN_PASS_DECL
#include "etc/Verify/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "etc/Verify/Passes.h.inc"

} // namespace etc

#endif // ETC_VERIFY_PASSES_H
