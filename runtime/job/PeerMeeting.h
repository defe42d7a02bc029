// How processes get the connections that control goes over.

#ifndef ETC_RUNTIME_JOB_PEERMEETING_H
#define ETC_RUNTIME_JOB_PEERMEETING_H

#include "job/PeerChannel.h"
#include "job/PeerControl.h"

#include <map>

namespace etc::runtime {

using PeerChannels = std::map<uint32_t, PeerChannel>; // by rank

/// Of two peers, the one with the lower rank listens. Everybody listens and
/// says where before it connects to anybody, and nobody waits for an answer, so
/// that no order of arrival can block.
Result<PeerChannels> meetPeers(const PeerControlOptions &options);

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_PEERMEETING_H
