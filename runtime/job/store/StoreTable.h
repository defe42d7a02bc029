// The values of a job's store, as its hub keeps them. It knows no sockets.

#ifndef ETC_RUNTIME_JOB_STORE_STORETABLE_H
#define ETC_RUNTIME_JOB_STORE_STORETABLE_H

#include "job/store/StoreMessage.h"

#include <deque>
#include <functional>
#include <map>
#include <set>

namespace etc::runtime {

/// Values that members put are kept by those who put them too, who tell them to
/// the next hub. What is set once is final, and told to anybody, only when all
/// members that are connected have it: whoever is the next hub hears of it.
class StoreTable {
public:
  /// Sends a message to a member, itself included.
  using Answer = std::function<void(uint64_t member, const StoreMessage &)>;

  StoreTable(uint64_t self, Answer answer)
      : self(self), answer(std::move(answer)) {}

  void handle(uint64_t from, const StoreMessage &message);

  /// That of this hub. Of what earlier ones chose, the latest counts.
  void setTerm(uint64_t value) { term = value; }

  /// A member is connected: it hears all that was decided.
  void join(uint64_t member);
  /// It is not any more.
  void leave(uint64_t member);

  /// Whether this hub speaks for all. Otherwise questions wait.
  void setOpen(bool open);

private:
  struct Value {
    uint64_t order = 0;
    std::string value;
  };
  /// What is about to be decided, and who does not have it yet.
  struct Proposal {
    std::string value;
    uint64_t term = 0;   // of the hub that chose it
    uint64_t number = 0; // of no other one
    std::set<uint64_t> missing;
  };
  struct Request {
    uint64_t member, number;
    bool operator==(const Request &) const = default;
  };

  void put(uint64_t from, const StoreMessage &message);
  void recall(uint64_t from, const StoreMessage &message);
  void propose(uint64_t from, const StoreMessage &message);
  void choose(const std::string &key, const std::string &value, uint64_t of);
  void learn(uint64_t member, const std::string &key, const Proposal &proposal);
  void acknowledge(uint64_t from, const StoreMessage &message);
  void get(uint64_t from, const StoreMessage &message);
  void drop(const Request &request);
  void settle();
  void decide(const std::string &key, const std::string &value);
  void answerWaiting(const std::string &key, const std::string &value);

  const uint64_t self;
  const Answer answer;
  bool isOpen = false;
  uint64_t term = 0, lastOrder = 0, lastProposal = 0;
  std::set<uint64_t> members; // connected, without this process
  std::map<std::string, Value> values;
  std::map<std::string, std::string> decided;
  std::map<std::string, Proposal> proposals;
  std::map<std::string, std::deque<Request>> waiting;
  std::deque<std::pair<uint64_t, StoreMessage>> held; // until it is open
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_STORE_STORETABLE_H
