// How a process finds the hub of a job's store, which may have failed.

#ifndef ETC_RUNTIME_JOB_STORE_STORESEARCH_H
#define ETC_RUNTIME_JOB_STORE_STORESEARCH_H

#include "job/store/StoreLink.h"

#include <deque>
#include <memory>
#include <set>

namespace etc::runtime {

/// Asks one process after the other, in the order in which they joined. The hub
/// takes this one in; others name the hub that they have.
class StoreSearch {
public:
  struct Found {
    std::unique_ptr<StoreLink> hub; // null: this process is the next one
    StoreMessage members;           // what the hub said
  };

  /// `hello` is what this process says; `who` are those to ask, each with its
  /// number, or 0. After `patience` without an answer the next one is asked.
  StoreSearch(StoreMessage hello, std::deque<JobProcess> who, Secret secret,
              Milliseconds patience)
      : hello(std::move(hello)), who(std::move(who)), secret(secret),
        patience(patience) {}

  /// Of this hub nothing is to be expected.
  void giveUp(uint64_t number) { gone.insert(number); }

  /// Goes on; what it found, once it is over. Nobody left to ask: no hub.
  std::optional<Found> step(Milliseconds time);

  /// Those that did not answer.
  const std::set<uint64_t> &silent() const { return gone; }
  /// Those that certainly are no more.
  const std::set<uint64_t> &dead() const { return dead_; }
  /// Whether nobody listened at any address so far.
  bool isRefusedByAll() const { return !dead_.empty() && !isAnySilent; }
  pollfd entry() const;

private:
  void next();
  void askAgain();
  std::optional<Found> hear(StoreMessage message);

  const StoreMessage hello;
  std::deque<JobProcess> who; // the first is asked now
  const Secret secret;
  const Milliseconds patience;
  std::set<uint64_t> gone, dead_;
  bool isAnySilent = false;
  std::unique_ptr<StoreLink> link;
  Milliseconds waited{}, pause{};
  unsigned hops = 0; // that others sent it on
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_STORE_STORESEARCH_H
