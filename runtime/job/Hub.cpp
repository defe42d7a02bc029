#include "job/Hub.h"

#include <algorithm>
#include <poll.h>

using namespace etc::runtime;

namespace {

/// How long after a first failure others may still explain it.
constexpr Milliseconds kSettle{200};
/// How long the last words may take to leave.
constexpr Milliseconds kFarewell{1000};
/// How long processes may still come that learn why all were stopped.
constexpr Milliseconds kLatecomers{3000};
constexpr Milliseconds kPoll{50};
/// How long a connection may take to say who it is.
constexpr Milliseconds kGreeting{5000};

} // namespace

Hub::Hub(Socket listener, HubOptions given)
    : listener(std::move(listener)), spare(duplicate(this->listener)),
      options(std::move(given)), strangers(sizeof(Hello), false, kGreeting),
      start(Clock::now()), nextBeat(start),
      listening(std::max(options.times.beat, kPoll)),
      thread([this] { run(); }) {}

Hub::~Hub() {
  isEnding = true;
  thread.join();
  sendToAll(FrameKind::Bye, {});
  for (auto &[rank, guest] : guests) {
    std::string unread; // or the system would cut the connection
    if (guest.socket.isOpen() && guest.socket.receive(unread))
      flush(guest);
  }
}

void Hub::run() {
  while (!isOver()) {
    wait();
    const Clock::time_point now = Clock::now();
    listening.look();
    noteGivenUp();
    greet();
    for (auto &[rank, guest] : guests)
      if (guest.socket.isOpen())
        listen(guest);
    watch(now);
    for (auto &[rank, guest] : guests)
      flush(guest);
  }
  // Who still waits is not left waiting.
  spare.close();
  listener.close();
}

void Hub::giveUp(const Status &why) {
  std::lock_guard lock(mutex);
  givenUp = why;
}

void Hub::noteGivenUp() {
  std::lock_guard lock(mutex);
  if (givenUp && !stopped)
    note(*givenUp);
}

/// Of failures, the first one that is not about a peer counts.
void Hub::note(const Status &failure) {
  std::optional<Status> &first =
      failure.kind() == ErrorKind::Peer ? firstFailure : firstFault;
  if (!first)
    first = failure;
  stop();
}

void Hub::wait() {
  std::vector<pollfd> entries;
  // Out of descriptors it would say at once, again and again, that somebody
  // waits.
  if (!isFull || (stopped && spare.isOpen()))
    entries.push_back({listener.fd(), POLLIN, 0});
  strangers.addEntries(entries);
  for (const auto &[rank, guest] : guests)
    if (guest.socket.isOpen())
      entries.push_back(
          {guest.socket.fd(),
           static_cast<short>(guest.out.empty() ? POLLIN : POLLIN | POLLOUT),
           0});
  ::poll(entries.data(), entries.size(), static_cast<int>(kPoll.count()));
}

bool Hub::isOver() {
  auto isGone = [](const auto &entry) {
    return entry.second.isDone || !entry.second.socket.isOpen();
  };
  const bool allGone = std::all_of(guests.begin(), guests.end(), isGone);
  const Clock::time_point now = Clock::now();
  if (told && isAwaited())
    return now - *told > kLatecomers;
  if (told)
    return allGone || now - *told > kFarewell;
  return isOpen && allGone && !stopped;
}

/// Whether a process may still come that does not know why all were stopped.
/// That of the hub does not any more once the hub ends.
bool Hub::isAwaited() const {
  if (isOpen)
    return false;
  for (uint32_t rank = isEnding ? 1 : 0; rank != options.rankCount; ++rank)
    if (!guests.contains(rank) && !turnedAway.contains(rank))
      return true;
  return false;
}

void Hub::listen(Guest &guest) {
  std::string bytes;
  const bool isAlive = guest.socket.receive(bytes);
  guest.reader.feed(bytes);
  const uint32_t rank = guest.hello.rank;
  while (true) {
    Result<std::optional<Frame>> frame = guest.reader.next();
    if (!frame)
      return lose(guest);
    if (!*frame)
      break;
    guest.heard = listening.now();
    handle(rank, **frame);
  }
  if (!isAlive)
    lose(guest);
}

void Hub::handle(uint32_t rank, const Frame &frame) {
  Guest &guest = guests[rank];
  switch (frame.kind) {
  case FrameKind::Beat:
    guest.round = parseRound(frame.payload).value_or(guest.round);
    return;
  case FrameKind::Put:
    if (auto pair = parsePair(frame.payload)) {
      values[pair->first] = pair->second;
      auto [begin, end] = waiting.equal_range(pair->first);
      for (auto it = begin; it != end; ++it)
        answer(guests[it->second], pair->first);
      waiting.erase(begin, end);
    }
    return;
  case FrameKind::Get:
    if (values.contains(frame.payload))
      answer(guest, frame.payload);
    else
      waiting.emplace(frame.payload, rank);
    return;
  case FrameKind::Failed: {
    std::optional<Status> failure = parseFailure(frame.payload);
    if (!failure)
      return lose(guest);
    guest.hasFailed = true;
    return note(*failure);
  }
  case FrameKind::Bye:
    guest.isDone = true;
    return;
  default:
    return lose(guest); // only the hub says that
  }
}

void Hub::answer(Guest &guest, const std::string &key) {
  guest.out += formatFrame(FrameKind::Value, formatPair(key, values[key]));
}

void Hub::watch(Clock::time_point now) {
  if (!isOpen && !stopped && now - start > options.times.meeting) {
    firstFailure = Status(ErrorKind::Peer,
                          text("not all of the ", options.rankCount,
                               " processes met ", options.place, " within ",
                               options.times.meeting.count() / 1000.0, " s; ",
                               nameMissing()));
    stop();
  }
  if (now >= nextBeat) {
    nextBeat = now + options.times.beat;
    if (isOpen && !stopped)
      sendToAll(FrameKind::Beat, formatRound(guests.at(0).round));
  }
  for (auto &[rank, guest] : guests)
    if (isOpen && !stopped && !guest.isDone &&
        listening.now() - guest.heard > options.times.silence)
      stop();
  if (stopped && !told && now - *stopped > kSettle)
    sendCause(findCause());
}

void Hub::stop() {
  if (stopped)
    return;
  stopped = Clock::now();
  sendToAll(FrameKind::Stop, {});
}

/// The end of a connection. Nobody leaves before the cause is known.
void Hub::lose(Guest &guest) {
  guest.socket.close();
  if (guest.isDone || told)
    return;
  guest.isLost = !guest.hasFailed;
  stop();
}

static std::string noSignOfLife(Milliseconds silence) {
  const int64_t tenths = silence.count() / 100;
  return text("no sign of life for ", static_cast<double>(tenths) / 10, " s");
}

/// What a process says is wrong with itself comes first, then who is gone, then
/// who is silent, then who misses somebody.
Status Hub::findCause() const {
  if (firstFault)
    return *firstFault;
  auto lost = [&](uint32_t rank, const Guest &guest, const std::string &how) {
    return Status(ErrorKind::Peer,
                  options.describeLoss(rank, guest.round) + ": " + how);
  };
  for (const auto &[rank, guest] : guests)
    if (guest.isLost)
      return lost(rank, guest, "its process is gone");
  for (const auto &[rank, guest] : guests) {
    auto silence =
        std::chrono::duration_cast<Milliseconds>(listening.now() - guest.heard);
    if (isOpen && !guest.isDone && !guest.hasFailed &&
        (silence > options.times.silence || silence > 8 * options.times.beat))
      return lost(rank, guest, noSignOfLife(silence));
  }
  return firstFailure.value_or(Status(ErrorKind::Peer, "stopped"));
}

void Hub::sendCause(const Status &cause) {
  told = Clock::now();
  verdict = cause;
  // A launcher may end all of them once the first has ended.
  if (!isOpen && options.onUnmet)
    options.onUnmet(cause);
  sendToAll(FrameKind::Cause, formatFailure(cause));
}

void Hub::sendToAll(FrameKind kind, std::string_view payload) {
  for (auto &[rank, guest] : guests)
    guest.out += formatFrame(kind, payload);
}

void Hub::flush(Guest &guest) {
  if (guest.socket.isOpen() && !guest.socket.send(guest.out))
    lose(guest);
}

std::string Hub::nameMissing() const {
  std::string out;
  uint32_t count = 0;
  for (uint32_t rank = 0; rank != options.rankCount; ++rank)
    if (!guests.contains(rank) && ++count <= 8)
      out += (out.empty() ? "" : ", ") + std::to_string(rank);
  return (count == 1 ? "missing: rank " : "missing: ranks ") + out +
         (count > 8 ? text(" and ", count - 8, " more") : "");
}
