// Participants that are processes with a GPU each, exchanging device memory
// through NCCL.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_NCCLTRANSPORT_H
#define ETC_RUNTIME_CORE_TRANSPORT_NCCLTRANSPORT_H

#include "core/transport/NcclLibrary.h"
#include "core/transport/Transport.h"

#include <memory>
#include <string>
#include <vector>

namespace etc::runtime {

/// What goes between GPUs of one node.
struct NodeTraffic {
  /// From how many ranks of its node a rank receives, at most; 0 where nobody
  /// knows.
  uint32_t sources = 0;
  bool isAll = false; // nothing goes between nodes
};

struct NcclOptions {
  uint32_t rank = 0;
  /// `devices[rank]` is what messages call a rank.
  std::vector<uint32_t> devices;
  /// The GPU, as this process numbers them.
  unsigned ordinal = 0;
  /// Over which rank 0 tells its id, and which is asked in every wait whether a
  /// participant has given up or was lost. Not owned.
  Control *control = nullptr;
  /// As rank 0 knows it; others are not asked.
  NodeTraffic traffic = {};
  Deadline deadline{Milliseconds(0)};
  /// How long they may take to take part in a group.
  Milliseconds timeout{};
  /// How long an abort may take, which waits for others.
  Milliseconds lastWait{5000};
};

/// Channels of the communicator and, from 2.28 on, of each pair of ranks: as
/// many as pairs on NVLink can use where NCCL's buffers for them stay near 1 GB
/// a GPU, and never less than 8. A power of two.
int channelsFor(const NodeTraffic &traffic, int version);

/// Whether the libraries are there that the transport needs: the CUDA driver
/// and NCCL. It starts neither. The error names what is missing.
Status findNccl();

/// Makes the communicator, of all participants. Errors are of kind Peer where
/// others do not appear, else Usage.
Result<std::unique_ptr<Transport>> connectNccl(const NcclOptions &options);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_NCCLTRANSPORT_H
