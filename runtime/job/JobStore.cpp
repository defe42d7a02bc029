#include "job/JobStore.h"

#include "core/transport/Reach.h"

#include <unistd.h>

using namespace etc::runtime;
using Clock = std::chrono::steady_clock;

namespace {

/// Under which the first process leaves how it is reached, and each its own.
const std::string kFirst = "store/first";
std::string keyOf(uint64_t number) { return text("store/member/", number); }

constexpr Milliseconds kTurn{50};
/// A wait that is shorter is a look.
constexpr Milliseconds kLook{10};
/// How many times the silence an answer may take: a hub may fail, and then the
/// next one.
constexpr int kPatience = 4;

Result<Contact> parseContact(const std::string &value) {
  Contact contact;
  const size_t at = value.find('@');
  if (at == value.npos)
    return Status(ErrorKind::Usage,
                  "contact: expected what a process of the job got as contact");
  contact.secret = value.substr(0, at);
  for (size_t begin = at + 1; begin < value.size();) {
    const size_t end = std::min(value.find(',', begin), value.size());
    const std::string address = value.substr(begin, end - begin);
    if (Result<Address> parsed = parseAddress(address); !parsed)
      return parsed.status().at("contact");
    contact.addresses.push_back(address);
    begin = end + 1;
  }
  return contact;
}

/// Of all that have joined so far, after the first.
void addMembers(Rendezvous &first, std::vector<std::string> &addresses) {
  for (uint64_t number = 2;; ++number) {
    const Result<std::string> address =
        first.get(keyOf(number), Deadline(Milliseconds(1)));
    if (!address)
      return;
    addresses.push_back(*address);
  }
}

/// Whether more have joined since `addresses` were read, which are added.
bool findMore(const JobStoreOptions &options,
              std::vector<std::string> &addresses) {
  if (!options.contact.empty())
    return false;
  std::vector<std::string> now{addresses.front()};
  addMembers(*options.first, now);
  if (now.size() > addresses.size())
    addresses.swap(now);
  return addresses.size() > now.size();
}

/// Why a process has found no other one.
Status describeMissing(const JobStoreOptions &options,
                       const std::vector<std::string> &addresses,
                       bool hasNobody) {
  std::string all;
  for (const std::string &address : addresses)
    all += (all.empty() ? "" : ", ") + address;
  if (!hasNobody)
    return Status(ErrorKind::Peer,
                  text("no process of the job's store answers at ", all,
                       " within ", options.deadline.seconds(),
                       " s; a new job needs a new tag"));
  if (!options.contact.empty())
    return Status(ErrorKind::Peer, text("contact names ", all,
                                        ", where nobody listens: those "
                                        "processes have ended"));
  return Status(ErrorKind::Peer,
                text(options.first->placeOf(kFirst), " names ", all,
                     ", where nobody listens; if an earlier job left it, "
                     "remove it, or use another tag or an empty directory"));
}

Status interrupted(const std::string &key) {
  return Status(ErrorKind::Peer, text(key, ": the wait was interrupted"));
}

} // namespace

JobStore::JobStore(const JobProcess &self, Socket listener,
                   const std::string &secretText, const Secret &secret,
                   Milliseconds silence)
    : secretText(secretText), address(self.address), silence(silence),
      owner(::getpid()), node(std::make_unique<StoreNode>(
                             self, std::move(listener), secret, silence)) {}

Result<std::unique_ptr<JobStore>>
JobStore::open(const JobStoreOptions &options) {
  Result<Listener> listener = listenAtHost(options.host);
  if (!listener)
    return listener.status();
  const std::string address = listener->address.describe();
  std::string known = options.contact;
  if (known.empty()) {
    const std::string mine = randomSecretText() + "@" + address;
    Result<std::string> first = options.first->putFirst(kFirst, mine);
    if (!first)
      return first.status();
    known = *first;
  }
  Result<Contact> contact = parseContact(known);
  if (!contact)
    return contact.status();
  Result<Secret> secret = makeSecret(contact->secret);
  if (!secret)
    return secret.status();
  JobProcess self;
  self.process = newProcessNumber();
  self.device = options.device;
  self.address = address;
  std::unique_ptr<JobStore> made(new JobStore(self, std::move(listener->socket),
                                              contact->secret, *secret,
                                              options.silence));
  if (Status s = made->begin(options, known); !s.ok())
    return s;
  return made;
}

Status JobStore::begin(const JobStoreOptions &options,
                       const std::string &known) {
  Result<Contact> contact = parseContact(known);
  const bool isFirst =
      options.contact.empty() && known == secretText + "@" + address;
  if (options.contact.empty() && !isFirst)
    addMembers(*options.first, contact->addresses);
  if (isFirst)
    node->found();
  else
    node->join(contact->addresses);
  thread = std::make_unique<std::thread>([this] { run(); });
  Result<uint64_t> number = awaitMembership(options, std::move(*contact));
  if (!number)
    return number.status();
  return options.contact.empty() ? options.first->put(keyOf(*number), address)
                                 : Status::success();
}

/// A process listens before it tells its address. Where nobody listens at any
/// for as long as a silent process is waited for, all that told one have ended.
/// Those that joined meanwhile are asked, too.
Result<uint64_t> JobStore::awaitMembership(const JobStoreOptions &options,
                                           Contact contact) {
  std::unique_lock lock(mutex);
  Deadline alone(silence);
  while (!node->isMember()) {
    changed.wait_for(lock, kTurn);
    if (!node->isAlone())
      alone = silence;
    if (!options.deadline.isOver() && !alone.isOver())
      continue;
    lock.unlock();
    if (options.deadline.isOver() || !findMore(options, contact.addresses))
      return describeMissing(options, contact.addresses, alone.isOver());
    lock.lock();
    node->join(contact.addresses);
    alone = silence;
  }
  return node->number();
}

JobStore::~JobStore() {
  if (::getpid() != owner) {
    closeAfterFork();
    return;
  }
  {
    std::lock_guard lock(mutex);
    isOver = true;
    if (node)
      node->leave();
  }
  if (thread)
    thread->join();
}

void JobStore::interrupt() {
  std::lock_guard lock(mutex);
  ++interrupts;
  changed.notify_all();
}

void JobStore::closeAfterFork() {
  (void)thread.release(); // there is none here
  node.reset();
}

void JobStore::run() {
  Clock::time_point last = Clock::now();
  std::unique_lock lock(mutex);
  std::vector<pollfd> entries;
  while (!isOver) {
    entries.clear();
    node->addEntries(entries);
    lock.unlock();
    ::poll(entries.data(), entries.size(), static_cast<int>(kTurn.count()));
    lock.lock();
    const Clock::time_point now = Clock::now();
    node->step(std::chrono::duration_cast<Milliseconds>(now - last));
    last = now;
    changed.notify_all();
  }
}

/// Why there is no answer.
std::string JobStore::describe() const {
  return text("the job's store has no answer within ",
              kPatience * silence.count() / 1000.0,
              " s: this process reaches less than half of the ",
              node->members().processes().size(), " processes");
}

Status JobStore::put(const std::string &key, const std::string &value) {
  if (value.size() > kMostStoreBytes || key.size() > kMostKeyBytes)
    return Status(ErrorKind::Usage,
                  text(key.substr(0, 100), ": a value of ", value.size(),
                       " bytes, at most ", kMostStoreBytes, " are stored"));
  std::lock_guard lock(mutex);
  node->put(key, value);
  return Status::success();
}

Result<std::string> JobStore::putFirst(const std::string &key,
                                       const std::string &value) {
  std::unique_lock lock(mutex);
  node->propose(key, value);
  const auto limit = Clock::now() + kPatience * silence;
  const uint64_t begun = interrupts;
  changed.wait_until(lock, limit, [&] {
    return node->client().decided(key) || interrupts != begun;
  });
  if (const std::string *value = node->client().decided(key))
    return *value;
  return interrupts == begun ? Status(ErrorKind::Peer, describe())
                             : interrupted(key);
}

Result<std::string> JobStore::get(const std::string &key,
                                  const Deadline &deadline) {
  std::unique_lock lock(mutex);
  const uint64_t number = ++lastRequest;
  const bool waits = deadline.left() > kLook;
  node->ask(number, key, waits);
  const auto limit = Clock::now() + kPatience * silence;
  const StoreClient::Request *request = node->client().request(number);
  const uint64_t begun = interrupts;
  changed.wait_until(
      lock, limit, [&] { return request->isAnswered || interrupts != begun; });
  if (waits)
    changed.wait_until(lock, deadline.time(), [&] {
      return request->value.has_value() || interrupts != begun;
    });
  const bool isAnswered = request->isAnswered;
  std::optional<std::string> value = request->value;
  node->drop(number);
  if (value)
    return std::move(*value);
  if (interrupts != begun)
    return interrupted(key);
  return Status(ErrorKind::Peer, isAnswered
                                     ? text(key, ": nobody set it within ",
                                            deadline.seconds(), " s")
                                     : describe());
}

std::string JobStore::contact() const {
  std::lock_guard lock(mutex);
  std::string text = secretText + "@" + address;
  for (const JobProcess &member : node->members().processes())
    if (member.address != address)
      text += "," + member.address;
  return text;
}

std::vector<uint32_t> JobStore::devices() const {
  std::lock_guard lock(mutex);
  return node->members().devices();
}
