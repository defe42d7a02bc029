#include "job/PeerMeeting.h"

#include "core/net/Secret.h"
#include "core/transport/Reach.h"
#include "core/transport/Strangers.h"
#include "job/Excluded.h"

#include <algorithm>
#include <cstring>
#include <poll.h>
#include <set>
#include <thread>

using namespace etc::runtime;

namespace {

/// What a connection begins with, from the higher rank.
struct Introduction {
  char magic[8] = {'E', 'T', 'C', 'P', 'E', 'E', 'R', '3'};
  uint32_t from = 0, to = 0;
  uint32_t generation = 0;
};

/// Before a peer is tried again.
constexpr Milliseconds kAgain{20};

std::string bytesOf(const Introduction &introduction) {
  return {reinterpret_cast<const char *>(&introduction), sizeof introduction};
}

class Meeting {
public:
  explicit Meeting(const PeerControlOptions &options)
      : options(options), peers(options.peers.begin(), options.peers.end()) {
    if (options.rank != 0)
      peers.insert(0);
    for (uint32_t rank = 1; options.rank == 0 && rank != options.devices.size();
         ++rank)
      peers.insert(rank);
  }

  Result<PeerChannels> run() {
    if (Status s = agreeOnSecret(); !s.ok())
      return s;
    if (Status s = listen(); !s.ok())
      return s;
    for (uint32_t peer : peers)
      if (peer < options.rank)
        if (Status s = connect(peer); !s.ok())
          return s;
    while (!haveAllMet())
      if (Status s = meetSomeone(); !s.ok())
        return s;
    return std::move(channels);
  }

private:
  Status agreeOnSecret() {
    const std::string key = "job/secret";
    std::string value;
    if (options.rank == 0) {
      value = randomSecretText();
      if (Status s = options.rendezvous->put(key, value); !s.ok())
        return s;
    } else {
      Result<std::string> got = options.rendezvous->get(key, options.deadline);
      if (!got)
        return got.status();
      value = *got;
    }
    Result<Secret> made = makeSecret(value);
    if (made)
      secret = *made;
    return made.status();
  }

  static std::string keyOf(uint32_t rank) { return text("job/", rank); }

  Status listen() {
    if (peers.empty() || *peers.rbegin() < options.rank)
      return Status::success();
    Result<Listener> opened = listenAtHost(options.host);
    if (!opened)
      return opened.status();
    listener = std::move(opened->socket);
    return options.rendezvous->put(keyOf(options.rank),
                                   opened->address.describe());
  }

  Status connect(uint32_t peer) {
    Result<std::string> where =
        options.rendezvous->get(keyOf(peer), options.deadline);
    if (!where)
      return where.status();
    Result<Address> address = parseAddress(*where);
    if (!address)
      return address.status();
    Result<Socket> socket = reach(text("device ", options.devices[peer]),
                                  *address, options.deadline, options.check,
                                  options.rendezvous->placeOf(keyOf(peer)));
    if (!socket)
      return socket.status();
    socket->secure(TlsSide::Connecting, secret);
    Introduction mine;
    mine.from = options.rank;
    mine.to = peer;
    mine.generation = options.generation;
    channels.emplace(peer, PeerChannel(std::move(*socket), options.generation,
                                       {}, bytesOf(mine)));
    return Status::success();
  }

  Status meetSomeone() {
    if (Status s = checkWait(nextMissing()); !s.ok())
      return s;
    waitForSomeone();
    introduceAll();
    if (Status s = connectAgain(); !s.ok())
      return s;
    if (Status s = strangers.take(listener, &secret); !s.ok())
      return s;
    strangers.hear([&](Socket &socket, const std::string &said) {
      judge(socket, said);
      return true;
    });
    if (later > options.generation)
      return excluded(options.generation, later);
    return Status::success();
  }

  /// A peer that has too many strangers closes the oldest connections, of
  /// whomever they are.
  Status connectAgain() {
    for (uint32_t peer : peers) {
      const auto known = channels.find(peer);
      if (known == channels.end() || !known->second.isCutOff())
        continue;
      channels.erase(known);
      std::this_thread::sleep_for(kAgain);
      if (Status s = connect(peer); !s.ok())
        return s;
    }
    return Status::success();
  }

  /// Whether a peer is connected, and each side knows that the other one has
  /// the secret; or it is gone already.
  bool hasMet(uint32_t peer) const {
    const auto known = channels.find(peer);
    return known != channels.end() &&
           (known->second.isReady() ||
            (known->second.end() != PeerChannel::End::None &&
             !known->second.isCutOff()));
  }
  bool haveAllMet() const {
    return std::all_of(peers.begin(), peers.end(),
                       [&](uint32_t peer) { return hasMet(peer); });
  }

  /// An error where there is a reason to wait for a peer no longer.
  Status checkWait(uint32_t peer) const {
    if (Status s = options.check ? options.check() : Status::success(); !s.ok())
      return s;
    if (options.deadline.isOver())
      return Status(ErrorKind::Peer,
                    text("device ", options.devices[peer],
                         channels.count(peer) ? " has not answered within "
                                              : " has not connected within ",
                         options.deadline.seconds(), " s"));
    return Status::success();
  }

  void waitForSomeone() const {
    std::vector<pollfd> entries{{listener.fd(), POLLIN, 0}};
    strangers.addEntries(entries);
    for (const auto &[peer, channel] : channels)
      if (channel.end() == PeerChannel::End::None)
        entries.push_back({channel.fd(), POLLIN, 0});
    constexpr int longest = 100; // then deadlines are looked at
    ::poll(entries.data(), entries.size(), longest);
  }

  /// Peers that this rank connected to may take up the connection now. The
  /// barrier that follows waits for those that do not yet.
  void introduceAll() {
    for (auto &[peer, channel] : channels) {
      channel.receive();
      channel.flush();
    }
  }

  /// Takes up a peer that is still missing.
  void judge(Socket &socket, const std::string &said) {
    Introduction theirs;
    std::memcpy(&theirs, said.data(), sizeof theirs);
    const Introduction expected;
    const bool isPeer =
        std::equal(std::begin(theirs.magic), std::end(theirs.magic),
                   std::begin(expected.magic)) &&
        theirs.to == options.rank && theirs.from > options.rank &&
        peers.count(theirs.from);
    if (!isPeer)
      return;
    later = std::max(later, theirs.generation);
    if (theirs.generation == options.generation)
      channels.emplace(theirs.from,
                       PeerChannel(std::move(socket), options.generation,
                                   said.substr(sizeof theirs)));
    else if (theirs.generation < options.generation)
      refuse(std::move(socket), theirs);
  }

  /// Tells a process of an earlier change that it is over.
  void refuse(Socket socket, const Introduction &theirs) const {
    PeerChannel channel(std::move(socket), theirs.generation);
    channel.addGivingUp({text("change ", theirs.generation,
                              " is over, this is change ", options.generation),
                         theirs.from});
    channel.flush();
  }

  uint32_t nextMissing() const {
    return *std::find_if(peers.begin(), peers.end(),
                         [&](uint32_t peer) { return !hasMet(peer); });
  }

  const PeerControlOptions &options;
  std::set<uint32_t> peers;
  Secret secret;
  uint32_t later = 0; // the latest generation that a peer came from
  Socket listener;
  Strangers strangers{sizeof(Introduction)};
  PeerChannels channels;
};

} // namespace

Result<PeerChannels>
etc::runtime::meetPeers(const PeerControlOptions &options) {
  return Meeting(options).run();
}
