#include "job/store/StoreTable.h"

#include <algorithm>
#include <utility>

using namespace etc::runtime;

void StoreTable::handle(uint64_t from, const StoreMessage &message) {
  switch (message.kind) {
  case StoreKind::Put:
    return put(from, message);
  case StoreKind::Known:
    return recall(from, message);
  case StoreKind::Have:
    return acknowledge(from, message);
  case StoreKind::First:
  case StoreKind::Get:
    if (!isOpen)
      held.emplace_back(from, message);
    else if (message.kind == StoreKind::Get)
      get(from, message);
    else
      propose(from, message);
    return;
  case StoreKind::Drop:
    return drop({from, message.number});
  default:
    return;
  }
}

void StoreTable::put(uint64_t from, const StoreMessage &message) {
  const uint64_t order = message.number ? message.number : lastOrder + 1;
  lastOrder = std::max(lastOrder, order);
  if (!message.number)
    answer(from, storeMessage(StoreKind::Stored, message.key, {}, order));
  Value &value = values[message.key];
  if (order < value.order)
    return; // another one set it since
  value = {order, message.value};
  answerWaiting(message.key, message.value);
}

void StoreTable::recall(uint64_t from, const StoreMessage &message) {
  if (decided.contains(message.key))
    return propose(from, message);
  if (message.flag) {
    proposals.erase(message.key);
    return decide(message.key, message.value);
  }
  const auto it = proposals.find(message.key);
  if (it == proposals.end() || it->second.term < message.term)
    choose(message.key, message.value, message.term);
}

void StoreTable::propose(uint64_t from, const StoreMessage &message) {
  if (const auto it = decided.find(message.key); it != decided.end())
    return answer(from,
                  storeMessage(StoreKind::Decided, it->first, it->second));
  if (!proposals.contains(message.key))
    choose(message.key, message.value, term);
}

void StoreTable::choose(const std::string &key, const std::string &value,
                        uint64_t of) {
  const Proposal &made = proposals[key] = {value, of, ++lastProposal, members};
  for (uint64_t member : members)
    learn(member, key, made);
  settle();
}

void StoreTable::learn(uint64_t member, const std::string &key,
                       const Proposal &proposal) {
  StoreMessage message =
      storeMessage(StoreKind::Learn, key, proposal.value, proposal.number);
  message.term = term;
  answer(member, message);
}

void StoreTable::acknowledge(uint64_t from, const StoreMessage &message) {
  const auto it = proposals.find(message.key);
  if (it != proposals.end() && it->second.number == message.number)
    it->second.missing.erase(from);
  settle();
}

/// Decides what all have.
void StoreTable::settle() {
  std::map<std::string, Proposal> rest;
  if (!isOpen)
    return;
  for (auto &[key, proposal] : std::exchange(proposals, {}))
    if (proposal.missing.empty())
      decide(key, proposal.value);
    else
      rest.emplace(key, std::move(proposal));
  proposals.merge(rest);
}

void StoreTable::decide(const std::string &key, const std::string &value) {
  decided.emplace(key, value);
  for (uint64_t member : members)
    answer(member, storeMessage(StoreKind::Decided, key, value));
  answer(self, storeMessage(StoreKind::Decided, key, value));
  answerWaiting(key, value);
}

void StoreTable::answerWaiting(const std::string &key,
                               const std::string &value) {
  const auto it = waiting.find(key);
  if (it == waiting.end())
    return;
  const std::deque<Request> requests = std::move(it->second);
  waiting.erase(it);
  for (const Request &request : requests)
    answer(request.member,
           storeMessage(StoreKind::Value, key, value, request.number, true));
}

void StoreTable::get(uint64_t from, const StoreMessage &message) {
  const auto final = decided.find(message.key);
  const auto value = values.find(message.key);
  if (final != decided.end())
    return answer(from, storeMessage(StoreKind::Value, message.key,
                                     final->second, message.number, true));
  if (value != values.end())
    return answer(from,
                  storeMessage(StoreKind::Value, message.key,
                               value->second.value, message.number, true));
  if (message.flag)
    waiting[message.key].push_back({from, message.number});
  answer(from, storeMessage(StoreKind::Value, message.key, {}, message.number));
}

void StoreTable::drop(const Request &request) {
  for (auto &[key, requests] : waiting)
    std::erase(requests, request);
  std::erase_if(waiting,
                [](const auto &entry) { return entry.second.empty(); });
  std::erase_if(held, [&](const auto &entry) {
    return entry.first == request.member &&
           entry.second.kind == StoreKind::Get &&
           entry.second.number == request.number;
  });
}

void StoreTable::join(uint64_t member) {
  leave(member); // what it asked over a connection before it asks again
  members.insert(member);
  for (const auto &[key, value] : decided)
    answer(member, storeMessage(StoreKind::Decided, key, value));
  for (auto &[key, proposal] : proposals) {
    proposal.missing.insert(member);
    learn(member, key, proposal);
  }
}

void StoreTable::leave(uint64_t member) {
  members.erase(member);
  for (auto &[key, proposal] : proposals)
    proposal.missing.erase(member);
  for (auto &[key, requests] : waiting)
    std::erase_if(requests, [&](const Request &request) {
      return request.member == member;
    });
  std::erase_if(held, [&](const auto &entry) { return entry.first == member; });
}

void StoreTable::setOpen(bool open) {
  isOpen = open;
  settle();
  if (!isOpen)
    return;
  for (const auto &[from, message] : std::exchange(held, {}))
    handle(from, message);
}
