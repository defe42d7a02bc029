//===- Hosts.h - The names of nodes -----------------------------*- C++ -*-===//

#ifndef ETC_REQUEST_HOSTS_H
#define ETC_REQUEST_HOSTS_H

#include "etc/Request/Diagnostic.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace etc::request {

/// Whether there is a name for each node that launchers' files can have, and no
/// two are alike. Errors are Malformed, at the field.
llvm::Error checkHostNames(llvm::ArrayRef<std::string> hosts, size_t nodes,
                           const Field &field);

} // namespace etc::request

#endif // ETC_REQUEST_HOSTS_H
