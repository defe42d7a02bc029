#include "job/store/StoreClient.h"

using namespace etc::runtime;

StoreMessage StoreClient::put(const std::string &key,
                              const std::string &value) {
  Own &own = puts[key];
  own.value = value;
  own.order = 0;
  ++own.unordered;
  return storeMessage(StoreKind::Put, key, value);
}

StoreMessage StoreClient::propose(const std::string &key,
                                  const std::string &value) {
  const std::string &first = proposals.try_emplace(key, value).first->second;
  return storeMessage(StoreKind::First, key, first);
}

StoreMessage StoreClient::ask(uint64_t number, const std::string &key,
                              bool isWaiting) {
  requests[number] = {key, false, std::nullopt};
  waits[number] = isWaiting;
  return storeMessage(StoreKind::Get, key, {}, number, isWaiting);
}

StoreMessage StoreClient::drop(uint64_t number) {
  requests.erase(number);
  waits.erase(number);
  return storeMessage(StoreKind::Drop, {}, {}, number);
}

std::optional<StoreMessage> StoreClient::handle(const StoreMessage &message) {
  if (message.kind == StoreKind::Stored) {
    // Of several puts, the order of the last one is that of the value.
    const auto it = puts.find(message.key);
    if (it != puts.end() && it->second.unordered > 0 &&
        --it->second.unordered == 0)
      it->second.order = message.number;
  } else if (message.kind == StoreKind::Learn) {
    Choice &choice = choices[message.key];
    if (!choice.isFinal)
      choice = {message.value, message.term, false};
    return storeMessage(StoreKind::Have, message.key, {}, message.number);
  } else if (message.kind == StoreKind::Decided) {
    choices[message.key] = {message.value, message.term, true};
    proposals.erase(message.key);
  } else if (message.kind == StoreKind::Value) {
    const auto it = requests.find(message.number);
    if (it == requests.end())
      return std::nullopt;
    it->second.isAnswered = true;
    if (message.flag)
      it->second.value = message.value;
  }
  return std::nullopt;
}

std::vector<StoreMessage> StoreClient::repeat() {
  std::vector<StoreMessage> all;
  for (const auto &[key, choice] : choices) {
    all.push_back(
        storeMessage(StoreKind::Known, key, choice.value, 0, choice.isFinal));
    all.back().term = choice.term;
  }
  for (auto &[key, own] : puts) {
    own.unordered = own.order == 0; // what the hub before got is not answered
    all.push_back(storeMessage(StoreKind::Put, key, own.value, own.order));
  }
  for (const auto &[key, value] : proposals)
    all.push_back(storeMessage(StoreKind::First, key, value));
  for (const auto &[number, request] : requests)
    if (!request.value)
      all.push_back(storeMessage(StoreKind::Get, request.key, {}, number,
                                 waits.at(number)));
  all.push_back(storeMessage(StoreKind::Ready, {}, {}));
  return all;
}

const std::string *StoreClient::decided(const std::string &key) const {
  const auto it = choices.find(key);
  return it != choices.end() && it->second.isFinal ? &it->second.value
                                                   : nullptr;
}

const StoreClient::Request *StoreClient::request(uint64_t number) const {
  const auto it = requests.find(number);
  return it == requests.end() ? nullptr : &it->second;
}
