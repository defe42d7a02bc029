// What one process has told a job's store and asked it, whoever the hub is.

#ifndef ETC_RUNTIME_JOB_STORE_STORECLIENT_H
#define ETC_RUNTIME_JOB_STORE_STORECLIENT_H

#include "job/store/StoreMessage.h"

#include <map>

namespace etc::runtime {

class StoreClient {
public:
  struct Request {
    std::string key;
    bool isAnswered = false; // perhaps with: there is none yet
    std::optional<std::string> value;
  };

  /// Each returns what the hub has to hear.
  StoreMessage put(const std::string &key, const std::string &value);
  StoreMessage propose(const std::string &key, const std::string &value);
  StoreMessage ask(uint64_t number, const std::string &key, bool waits);
  StoreMessage drop(uint64_t number);

  /// What the hub says; returns what it has to hear in turn.
  std::optional<StoreMessage> handle(const StoreMessage &message);

  /// All that a new hub has to hear, in order.
  std::vector<StoreMessage> repeat();

  /// The final value of a key that is set once, or null.
  const std::string *decided(const std::string &key) const;
  /// Null where it was dropped.
  const Request *request(uint64_t number) const;

private:
  struct Own {
    uint64_t order = 0;
    std::string value;
    uint64_t unordered = 0; // how many of its puts have no order yet
  };
  struct Choice {
    std::string value;
    uint64_t term = 0; // of the hub that made it
    bool isFinal = false;
  };

  std::map<std::string, Own> puts;
  std::map<std::string, std::string> proposals; // not decided yet
  std::map<std::string, Choice> choices;
  std::map<uint64_t, Request> requests;
  std::map<uint64_t, bool> waits; // by request
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_STORE_STORECLIENT_H
