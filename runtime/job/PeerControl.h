// Control between processes: TCP connections from each to those that it has to
// talk to.

#ifndef ETC_RUNTIME_JOB_PEERCONTROL_H
#define ETC_RUNTIME_JOB_PEERCONTROL_H

#include "core/transport/Control.h"
#include "job/Rendezvous.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace etc::runtime {

struct PeerControlOptions {
  uint32_t rank = 0;
  /// `devices[rank]` is what messages call a rank.
  std::vector<uint32_t> devices;
  /// Whom this rank talks to, beside rank 0, which talks to all. If one rank
  /// names another, the other names it too.
  std::vector<uint32_t> peers;
  /// Through which processes tell each other where they listen, and the secret
  /// that a connection begins with. Not owned.
  Rendezvous *rendezvous = nullptr;
  /// The name or address of this host to listen on; empty takes the host's
  /// name.
  std::string host;
  /// The number of the change: a process that comes from an earlier one is told
  /// that it is excluded, and one that meets a later one is.
  uint32_t generation = 0;
  /// Between two signs of life, which a thread of its own sends and hears until
  /// the end. 0: none, where the program has others.
  Milliseconds beat{0};
  /// After so long without a sign of life a peer is given up. Only time in
  /// which this process listens counts.
  Milliseconds silence{5000};
  /// Asked now and then: an error ends the meeting. May be empty.
  std::function<Status()> check;
  /// How long the others may take to appear.
  Deadline deadline{Milliseconds(0)};
};

/// Ends the part that `device` has in a migration after `error`, and tells the
/// others why. Returns what to tell the user: the error where it is this
/// device's own, else the cause that all name; of kind Excluded where the
/// others gave this one up.
Status giveUp(Control &control, uint32_t device, const Status &error);

/// Connects to all peers, and returns when all participants have. Connections
/// that don't begin with the secret are closed. Errors are of kind Peer where
/// others do not appear, else Usage.
Result<std::unique_ptr<Control>>
connectPeerControl(const PeerControlOptions &options);

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_PEERCONTROL_H
