//===- Price.h - What a placement costs over the free one -----------------===//

#ifndef ETC_TOOLS_ETCOPT_PRICE_H
#define ETC_TOOLS_ETCOPT_PRICE_H

#include "Options.h"
#include "plan/plan_generated.h"

#include "llvm/Support/raw_ostream.h"

namespace etc {

/// A line of the summary: what the plan moves more than one with --place=any
/// does, under the same objective. Nothing where roles may go anywhere.
void writePrice(MigrationOp migration, const plan::fb::Plan &plan,
                bool totalFirst, llvm::raw_ostream &os);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_PRICE_H
