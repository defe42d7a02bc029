//===- Chain.h - Requests that follow each other ----------------*- C++ -*-===//
//
// A chain A -> B -> C of requests that have not begun becomes one plan, A -> C:
// what B would receive only to pass on goes straight to its final device. C is
// placed as if the requests were carried out one by one. docs/chains.md
// describes it for users.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_PLANNER_CHAIN_H
#define ETC_PLANNER_CHAIN_H

#include "etc/Planner/PlanRequest.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace etc {

/// Requests in order, one or more.
using Chain = std::vector<request::Request>;

/// Lets each request after the first begin with the configuration in which the
/// one before ends, and checks each by request::checkRequest and that they go
/// together: of one model, cluster and set of types, under the policy "best",
/// and a device that failed in one has failed in all after it. Their own `prev`
/// may be absent. Rates that one of them names are those of all.
llvm::Error linkChain(Chain &chain);

/// Whether the first migration of a chain may still be composed with others:
/// fails, with the remedy, where the journals in `directory` say that it has
/// begun and was not rolled back, and where there are none. `field` is what
/// names the directory.
llvm::Error checkNotBegun(const std::string &directory,
                          const request::Field &field);

/// Plans a chain that linkChain has passed as one migration; with
/// `options.coalesce` off, as one migration for each request. Fails with a
/// diagnostic where a request can't be met.
mlir::FailureOr<PlannedRequest> planChain(mlir::MLIRContext &context,
                                          const Chain &chain,
                                          const PlanOptions &options);

} // namespace etc

#endif // ETC_PLANNER_CHAIN_H
