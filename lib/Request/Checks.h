//===- Checks.h - The parts of checkRequest ---------------------*- C++ -*-===//

#ifndef ETC_LIB_REQUEST_CHECKS_H
#define ETC_LIB_REQUEST_CHECKS_H

#include "etc/Request/Request.h"

namespace etc::request {

/// A field as its source spells it: `model.heads` in a file, `--heads` on a
/// command line.
Field fieldAt(const SourceLocation &where, llvm::StringRef name);

// The checks of fields, which stand in their table.
llvm::Error checkFailed(const Request &request, const Field &field);
llvm::Error checkHosts(const Request &request, const Field &field);
llvm::Error checkDraining(const Request &request, const Field &field);
llvm::Error checkTypes(const Request &request, const Field &field);

/// `use tp = 4 or tp = 8`: the valid numbers up to `most` next to `wanted`.
std::string useNearest(llvm::StringRef name, int64_t most, int64_t wanted,
                       llvm::function_ref<bool(int64_t)> isValid);
/// The same of the divisors of `number`.
std::string useDivisor(llvm::StringRef name, int64_t number, int64_t wanted);

/// Whether the sizes of a model go together, and can be counted.
llvm::Error checkModel(const ModelSpec &model);
/// Whether a plain table of tensors is complete and consistent.
llvm::Error checkTable(const ModelSpec &model);

/// Whether the model that a side's training arguments describe, if they do, is
/// the request's.
llvm::Error checkSideModel(const Request &request, const SideSpec &side,
                           llvm::StringRef name);

/// Whether a side's inventory says the dtype of every tensor, one of each type,
/// where it stands for the model.
llvm::Error checkInventoryModel(const Request &request, const SideSpec &side,
                                llvm::StringRef name);

/// Whether a side's configuration can run the model, by Megatron's own rules.
llvm::Error checkParallel(const Request &request, const SideSpec &side,
                          llvm::StringRef name);

} // namespace etc::request

#endif // ETC_LIB_REQUEST_CHECKS_H
