// Messages between GPUs that go through the hosts' memory.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_HOSTPATH_H
#define ETC_RUNTIME_CORE_TRANSPORT_HOSTPATH_H

#include "core/transport/Transport.h"

#include <memory>

namespace etc::runtime {

/// A transport of device memory over one of host memory that goes by the piece
/// (TcpTransport): copy engines bring pieces to pinned buffers and from there.
/// Nothing that it gives to the device waits for a peer, so that it can go on
/// beside a framework's collectives, whatever queue of the device it shares
/// with them. Pinned memory: a piece's for each peer and direction, until the
/// end. Messages are filled and taken by two threads.
///
/// Errors are of kind Usage where there is no driver or no such GPU.
Result<std::unique_ptr<Transport>>
makeHostPath(std::unique_ptr<Transport> overHosts, unsigned ordinal);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_HOSTPATH_H
