#include "job/store/StoreNode.h"

#include "core/plan/SystemError.h"
#include "core/transport/Strangers.h"
#include "job/ListeningTime.h"

#include <algorithm>

using namespace etc::runtime;

namespace {

std::deque<JobProcess> contactsAt(const std::vector<std::string> &addresses) {
  std::deque<JobProcess> contacts;
  for (const std::string &address : addresses)
    contacts.push_back({0, 0, 0, address});
  return contacts;
}

} // namespace

StoreNode::StoreNode(JobProcess self, Socket listener, Secret secret,
                     Milliseconds silence)
    : self(std::move(self)), listener(std::move(listener)), secret(secret),
      silence(silence) {}

void StoreNode::found() {
  self = members_.admit(self);
  takeOver();
  stepHub(Milliseconds(0));
}

void StoreNode::join(const std::vector<std::string> &addresses) {
  isAlone_ = false;
  contacts = contactsAt(addresses);
  searchFor(contacts);
}

void StoreNode::leave() {
  StoreMessage message;
  message.kind = StoreKind::Leave;
  if (hubLink)
    hubLink->send(message);
  for (auto &[number, peer] : peers)
    if (peer.link)
      peer.link->send(message);
}

//===----------------------------------------------------------------------===//
// What this process says
//===----------------------------------------------------------------------===//

HubState StoreNode::state() const {
  if (!table)
    return HubState::None;
  return wasOpen ? HubState::WasOpen : HubState::NeverOpen;
}

StoreMessage StoreNode::hello() const {
  StoreMessage message;
  message.kind = StoreKind::Join;
  message.term = term;
  message.number = self.number;
  message.flag = static_cast<uint8_t>(state());
  message.members = {0, {self}};
  return message;
}

StoreMessage StoreNode::describe(uint64_t receiver) const {
  StoreMessage message;
  message.kind = StoreKind::Members;
  message.term = term;
  message.number = receiver;
  message.flag = isOpen_;
  message.members = members_;
  return message;
}

void StoreNode::tell(const StoreMessage &message) {
  if (table)
    table->handle(self.number, message);
  else if (hubLink)
    hubLink->send(message);
  // Whoever looks for a hub tells it everything then.
}

void StoreNode::put(const std::string &key, const std::string &value) {
  tell(client_.put(key, value));
}
void StoreNode::propose(const std::string &key, const std::string &value) {
  tell(client_.propose(key, value));
}
void StoreNode::ask(uint64_t number, const std::string &key, bool waits) {
  tell(client_.ask(number, key, waits));
}
void StoreNode::drop(uint64_t number) { tell(client_.drop(number)); }

//===----------------------------------------------------------------------===//
// What happens
//===----------------------------------------------------------------------===//

void StoreNode::step(Milliseconds elapsed) {
  const Milliseconds time = listened(elapsed);
  acceptNewcomers(time);
  if (table)
    stepHub(time);
  else if (hubLink)
    stepMember(time);
  else
    stepSearch(time);
  beat(time);
}

void StoreNode::beat(Milliseconds time) {
  sinceBeat += time;
  if (sinceBeat < kBeatTime)
    return;
  sinceBeat = {};
  if (hubLink)
    hubLink->send({});
  for (auto &[number, peer] : peers)
    if (peer.link)
      peer.link->send({});
}

void StoreNode::addEntries(std::vector<pollfd> &entries) const {
  if (!isFull)
    entries.push_back({listener.fd(), POLLIN, 0});
  for (const Newcomer &newcomer : newcomers)
    entries.push_back(newcomer.link.entry());
  for (const auto &[number, peer] : peers)
    for (const StoreLink *link : {peer.link.get(), peer.probe.get()})
      if (link)
        entries.push_back(link->entry());
  if (hubLink)
    entries.push_back(hubLink->entry());
  if (searching)
    entries.push_back(searching->entry());
}

//===----------------------------------------------------------------------===//
// Newcomers
//===----------------------------------------------------------------------===//

void StoreNode::acceptNewcomers(Milliseconds time) {
  for (size_t i = 0; i != kMostStrangers; ++i) {
    Socket socket = accept(listener);
    isFull = !socket.isOpen() && plan::isOutOfDescriptors(errno);
    if (!socket.isOpen())
      break;
    newcomers.push_back({StoreLink(std::move(socket), secret)});
  }
  while (newcomers.size() > kMostStrangers)
    newcomers.pop_front();
  for (Newcomer &newcomer : newcomers) {
    newcomer.age += time;
    newcomer.link.receive(time);
    if (const std::optional<StoreMessage> message = newcomer.link.next()) {
      const bool isJoin = message->kind == StoreKind::Join &&
                          message->members.processes().size() == 1;
      if (isJoin)
        greet(newcomer, *message);
      newcomer.isOver |= !isJoin;
    }
    if (newcomer.who)
      admitWaiting(newcomer, time);
  }
  std::erase_if(newcomers, [](const Newcomer &newcomer) {
    return newcomer.isOver || newcomer.link.isOver() ||
           newcomer.age > kStrangersTime;
  });
}

void StoreNode::greet(Newcomer &newcomer, const StoreMessage &join) {
  const JobProcess &who = join.members.processes().front();
  if (table && yieldsTo(join)) {
    searchFor({who});
    return;
  }
  if (!table)
    return newcomer.link.send(describe(0)); // it closes the connection then
  if (join.term > term)
    table->setTerm(term = join.term + 1);
  if (members_.knows(who))
    admit(newcomer, who);
  else
    newcomer.who = who;
}

/// A new member counts: with it, one that is cut off from most would speak for
/// all. So they have to be heard after it came.
void StoreNode::admitWaiting(Newcomer &newcomer, Milliseconds time) {
  newcomer.waited += time;
  newcomer.isOver |= !table;
  if (!newcomer.isOver && hearsMost(newcomer.waited))
    admit(newcomer, *newcomer.who);
}

/// Of two that think that they are the hub.
bool StoreNode::yieldsTo(const StoreMessage &join) const {
  switch (static_cast<HubState>(join.flag)) {
  case HubState::WasOpen:
    return !wasOpen || join.term > term;
  case HubState::NeverOpen:
    return !wasOpen && join.number < self.number;
  case HubState::None:
    break;
  }
  return false;
}

void StoreNode::admit(Newcomer &newcomer, const JobProcess &who) {
  const uint64_t number = members_.admit(who).number;
  newcomer.isOver = true;
  if (who.process == self.process)
    return;
  Peer &peer = peers[number];
  peer = {};
  peer.link = std::make_unique<StoreLink>(std::move(newcomer.link));
  peer.link->send(describe(number));
  table->join(number);
  hasChanged = true;
}

//===----------------------------------------------------------------------===//
// A member
//===----------------------------------------------------------------------===//

void StoreNode::adopt(const StoreMessage &members) {
  term = members.term;
  self.number = members.number;
  isOpen_ = members.flag != 0;
  members_.adopt(members.members);
}

void StoreNode::follow(std::unique_ptr<StoreLink> link,
                       const StoreMessage &members) {
  table.reset();
  peers.clear();
  searching.reset();
  wasOpen = false;
  hubLink = std::move(link);
  adopt(members);
  for (const StoreMessage &message : client_.repeat())
    hubLink->send(message);
}

void StoreNode::stepMember(Milliseconds time) {
  hubLink->receive(time);
  while (const std::optional<StoreMessage> message = hubLink->next()) {
    if (message->kind == StoreKind::Members && message->number != 0)
      adopt(*message);
    else if (std::optional<StoreMessage> reply = client_.handle(*message))
      hubLink->send(*reply);
  }
  if (hubLink->isOver())
    search(false);
  else if (hubLink->silence() > silence)
    search(true);
}

//===----------------------------------------------------------------------===//
// A search
//===----------------------------------------------------------------------===//

void StoreNode::searchFor(std::deque<JobProcess> who) {
  table.reset();
  peers.clear();
  hubLink.reset();
  isOpen_ = wasOpen = false;
  searching.emplace(hello(), std::move(who), secret, silence / 2);
}

void StoreNode::search(bool isHubSilent) {
  searchFor(members_.before(self.number, isHubSilent));
  if (isHubSilent)
    searching->giveUp(members_.hub);
}

void StoreNode::stepSearch(Milliseconds time) {
  std::optional<StoreSearch::Found> found = searching->step(time);
  if (!found)
    return;
  if (found->hub)
    return follow(std::move(found->hub), found->members);
  if (!isMember()) {
    isAlone_ = searching->isRefusedByAll();
    return searchFor(contacts); // it has nobody else to ask
  }
  for (uint64_t number : searching->dead())
    members_.remove(number);
  const std::set<uint64_t> silent = searching->silent();
  takeOver();
  for (auto &[number, peer] : peers)
    if (silent.contains(number)) // they had their time
      peer.missing = silence + kBeatTime;
}

void StoreNode::takeOver() {
  searching.reset();
  members_.hub = self.number;
  ++term;
  table = std::make_unique<StoreTable>(
      self.number, [this](uint64_t member, const StoreMessage &message) {
        answer(member, message);
      });
  table->setTerm(term);
  // The others come by themselves.
  for (const JobProcess &member : members_.processes())
    if (member.number != self.number)
      peers[member.number].untilProbe = 2 * kBeatTime;
  for (const StoreMessage &message : client_.repeat())
    table->handle(self.number, message);
}
