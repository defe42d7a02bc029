// The address at which this machine listens.

#ifndef ETC_RUNTIME_CORE_NET_OWNADDRESS_H
#define ETC_RUNTIME_CORE_NET_OWNADDRESS_H

#include "core/plan/Status.h"

#include <string>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Result;
using plan::Status;
using plan::text;

/// Resolves `host`, a name or an address, to the first address of this machine
/// among its addresses, in numbers. Empty stands for the machine's own name.
/// Errors are of kind Usage: a name that does not resolve, an address of
/// another machine, no descriptor left for a socket.
Result<std::string> findOwnAddress(const std::string &host);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_NET_OWNADDRESS_H
