// A process of a job's store: the hub, one of its members, or looking for it.

#ifndef ETC_RUNTIME_JOB_STORE_STORENODE_H
#define ETC_RUNTIME_JOB_STORE_STORENODE_H

#include "job/store/StoreClient.h"
#include "job/store/StoreSearch.h"
#include "job/store/StoreTable.h"

#include <list>

namespace etc::runtime {

/// The hub is the process that joined first, of those that are left. Members
/// know each other from it, so that they find the next one when it fails. A hub
/// speaks only where it is *open*: it is connected with more than half of the
/// members, those aside that certainly are no more (nobody listens at their
/// address), and with all that it has not given up. So there are never two,
/// whatever is stopped, cut off and comes back.
///
/// For one thread at a time. It never waits.
class StoreNode {
public:
  StoreNode(JobProcess self, Socket listener, Secret secret,
            Milliseconds silence);

  /// The first process of all.
  void found();
  /// One that joins those that are at these addresses.
  void join(const std::vector<std::string> &addresses);
  /// Ends in order: others do not wait for it.
  void leave();

  /// What this process tells and asks.
  void put(const std::string &key, const std::string &value);
  void propose(const std::string &key, const std::string &value);
  void ask(uint64_t number, const std::string &key, bool waits);
  void drop(uint64_t number);
  const StoreClient &client() const { return client_; }

  /// Does what there is to do; so much time has passed since the last call.
  void step(Milliseconds elapsed);
  void addEntries(std::vector<pollfd> &entries) const;

  bool isMember() const { return self.number != 0; }
  bool isHub() const { return table != nullptr; }
  /// Whether nobody listened at the addresses that it was to join, the last
  /// time that it asked all.
  bool isAlone() const { return isAlone_; }
  /// Of a hub or of the one that is known.
  bool isOpen() const { return isOpen_; }
  uint64_t number() const { return self.number; }
  const Membership &members() const { return members_; }

private:
  /// Another member, as the hub has it.
  struct Peer {
    std::unique_ptr<StoreLink> link; // null while it is missing
    bool isReady = false;            // it has told what it knows
    bool isGone = false;             // in order, or certainly
    std::unique_ptr<StoreLink> probe;
    Milliseconds missing{}, untilProbe{};
  };
  struct Newcomer {
    StoreLink link;
    Milliseconds age{}, waited{};
    std::optional<JobProcess> who{}; // it has said, and waits to be admitted
    bool isOver = false;
  };

  StoreMessage hello() const;
  StoreMessage describe(uint64_t receiver) const;
  HubState state() const;
  void tell(const StoreMessage &message);
  void answer(uint64_t member, const StoreMessage &message);

  void acceptNewcomers(Milliseconds time);
  void greet(Newcomer &newcomer, const StoreMessage &join);
  void admitWaiting(Newcomer &newcomer, Milliseconds time);
  void admit(Newcomer &newcomer, const JobProcess &who);
  bool yieldsTo(const StoreMessage &join) const;

  void stepHub(Milliseconds time);
  void hear(uint64_t number, Peer &peer, Milliseconds time);
  void probe(uint64_t number, Peer &peer, Milliseconds time);
  void hearProbe(Peer &peer, const StoreMessage &members);
  /// Whether this hub has heard most members, itself included, since.
  bool hearsMost(Milliseconds since) const;
  void judge();
  void remove(uint64_t number);
  void spread();

  void stepMember(Milliseconds time);
  void adopt(const StoreMessage &members);
  void follow(std::unique_ptr<StoreLink> link, const StoreMessage &members);
  void stepSearch(Milliseconds time);
  void search(bool isHubSilent);
  void searchFor(std::deque<JobProcess> who);
  void takeOver();

  void beat(Milliseconds time);

  JobProcess self;
  Socket listener;
  const Secret secret;
  const Milliseconds silence;
  bool isFull = false; ///< out of descriptors: who connects waits
  std::list<Newcomer> newcomers;
  StoreClient client_;
  Membership members_;
  uint64_t term = 0;
  bool isOpen_ = false, wasOpen = false, hasChanged = false;
  Milliseconds sinceBeat{};

  // As the hub.
  std::unique_ptr<StoreTable> table;
  std::map<uint64_t, Peer> peers;
  /// Found while peers are walked over: the hub to go to.
  std::unique_ptr<StoreLink> better;
  StoreMessage betterMembers;
  std::optional<JobProcess> betterHub;

  // As a member.
  std::unique_ptr<StoreLink> hubLink;
  // Or neither.
  std::optional<StoreSearch> searching;
  std::deque<JobProcess> contacts;
  bool isAlone_ = false;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_STORE_STORENODE_H
