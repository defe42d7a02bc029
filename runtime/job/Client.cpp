#include "job/Client.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

using namespace etc::runtime;

namespace {

/// How long a process may take to stop by itself.
constexpr Milliseconds kStuck{1500};
/// How long after a failure the hub may take to tell the cause.
constexpr Milliseconds kVerdict{1200};
/// How long the last words may take to leave.
constexpr Milliseconds kFarewell{1000};
constexpr Milliseconds kPoll{50};
/// Before the hub is tried again.
constexpr Milliseconds kAgain{50};

} // namespace

Result<std::unique_ptr<Client>> Client::join(ClientOptions options,
                                             bool *areAllTold) {
  const auto deadline = Clock::now() + options.times.meeting;
  while (true) {
    Result<Socket> socket = connectTo(options.address, deadline);
    if (!socket)
      return socket.status();
    std::unique_ptr<Client> client(new Client(options, std::move(*socket)));
    const Status status = client->awaitWelcome(deadline);
    if (status.ok())
      return client;
    if (!client->isCutOff() || Clock::now() + kAgain > deadline) {
      if (areAllTold)
        *areAllTold = client->isCauseOfAll();
      return status;
    }
    client.reset();
    std::this_thread::sleep_for(kAgain);
  }
}

Client::Client(ClientOptions given, Socket connected)
    : options(std::move(given)), socket(std::move(connected)),
      out(reinterpret_cast<const char *>(&options.hello), sizeof(Hello)),
      listening(std::max(options.times.beat, kPoll)), heard(listening.now()),
      nextBeat(Clock::now()) {
  socket.secure(TlsSide::Connecting, options.secret);
  if (::pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0)
    wake[0] = wake[1] = -1;
  thread = std::thread([this] { run(); });
}

Client::~Client() {
  leave();
  {
    std::lock_guard lock(mutex);
    ending = Clock::now();
  }
  wakeUp();
  thread.join();
  for (int fd : wake)
    if (fd >= 0)
      ::close(fd);
}

Status Client::awaitWelcome(Clock::time_point deadline) {
  std::unique_lock lock(mutex);
  // The hub says who is missing; a little later one stops waiting for it.
  const bool isAnswered = changed.wait_until(
      lock, deadline + kVerdict, [&] { return isWelcome || cause; });
  if (isWelcome)
    return Status::success();
  isHandled = true;
  if (isAnswered)
    return *cause;
  return Status(ErrorKind::Peer,
                text("no welcome from ", options.address.describe(), " within ",
                     options.times.meeting.count() / 1000.0, " s"));
}

void Client::run() {
  while (true) {
    pollfd entries[2] = {{socket.fd(), POLLIN, 0}, {wake[0], POLLIN, 0}};
    {
      std::lock_guard lock(mutex);
      if (socket.isReady() && !out.empty())
        entries[0].events |= POLLOUT;
    }
    ::poll(entries, 2, static_cast<int>(kPoll.count()));
    listening.look();
    char drained[64];
    while (::read(wake[0], drained, sizeof drained) > 0)
      ;
    receive();
    watch();
    std::lock_guard lock(mutex);
    if (socket.isOpen())
      (void)socket.send(out);
    const bool isSaid = out.empty() || !socket.isOpen();
    if (ending && (isSaid || Clock::now() - *ending > kFarewell))
      return;
  }
}

void Client::receive() {
  if (!socket.isOpen())
    return;
  std::string bytes;
  bool isAlive, wasReady;
  {
    std::lock_guard lock(mutex); // another thread may be sending
    isAlive = socket.receive(bytes);
    wasReady = socket.isReady();
    isCutOff_ |= socket.isCutOff();
  }
  reader.feed(bytes);
  while (true) {
    Result<std::optional<Frame>> frame = reader.next();
    if (!frame)
      return loseHub("it sent " + frame.status().message());
    if (!*frame)
      break;
    handle(**frame);
  }
  if (!isAlive)
    loseHub(wasReady ? "its process is gone"
                     : "it is not a process of this job, or it has another "
                       "token");
}

void Client::handle(const Frame &frame) {
  std::unique_lock lock(mutex);
  heard = listening.now();
  switch (frame.kind) {
  case FrameKind::Welcome:
    if (auto known = parseWelcome(frame.payload, options.hello.rankCount)) {
      standings_ = std::move(*known);
      isWelcome = true;
    }
    break;
  case FrameKind::Beat:
    hubRound = parseRound(frame.payload).value_or(hubRound);
    break;
  case FrameKind::Value:
    if (auto pair = parsePair(frame.payload))
      values[pair->first] = pair->second;
    break;
  case FrameKind::Cause:
    if (!cause) {
      cause = parseFailure(frame.payload);
      isOfAll = stopped.has_value();
    }
    break;
  case FrameKind::Bye:
    isDismissed = true;
    break;
  case FrameKind::Stop:
    lock.unlock();
    stop();
    break;
  default:
    break;
  }
  changed.notify_all();
}

void Client::stop() {
  {
    std::lock_guard lock(mutex);
    if (stopped)
      return;
    stopped = Clock::now();
  }
  changed.notify_all();
  std::lock_guard lock(calling);
  if (callback)
    callback();
}

void Client::loseHub(const std::string &how) {
  {
    std::lock_guard lock(mutex);
    socket.close();
    if (isLeaving)
      return changed.notify_all();
    if (!cause) {
      cause = Status(ErrorKind::Peer,
                     isWelcome ? options.describeLoss(0, hubRound) + ": " + how
                               : text("no answer from ",
                                      options.address.describe(), ": ", how));
      isHubLost_ = true;
    }
  }
  changed.notify_all();
  stop();
}

/// What happens because time passes.
void Client::watch() {
  const Clock::time_point now = Clock::now();
  bool isSilent;
  {
    std::lock_guard lock(mutex);
    if (now >= nextBeat) {
      nextBeat = now + options.times.beat;
      if (options.onBeat)
        options.onBeat();
      if (socket.isOpen() && isWelcome && !isLeaving)
        out += formatFrame(FrameKind::Beat, formatRound(round));
    }
    isSilent = socket.isOpen() && isWelcome && !stopped && !isLeaving &&
               listening.now() - heard > options.times.silence;
  }
  if (isSilent)
    loseHub(text("no sign of life for ", options.times.silence.count() / 1000.0,
                 " s"));
  std::unique_lock lock(mutex);
  if (!stopped || isHandled || isLeaving || now - *stopped < kStuck)
    return;
  const bool isHubSilent = options.goodbye > Milliseconds(0) && !isDismissed;
  if (isHubSilent && socket.isOpen() && now - *stopped < options.goodbye)
    return;
  isHandled = true;
  const Status why = cause.value_or(Status(ErrorKind::Peer, "stopped"));
  const bool isLost = isHubLost_ || isHubSilent;
  lock.unlock();
  if (options.onStuck)
    options.onStuck(why, isLost);
}

void Client::send(FrameKind kind, std::string_view payload) {
  {
    std::lock_guard lock(mutex);
    out += formatFrame(kind, payload);
    if (socket.isOpen())
      (void)socket.send(out);
  }
  wakeUp();
}

void Client::wakeUp() {
  [[maybe_unused]] ssize_t ignored = ::write(wake[1], "", 1);
}

void Client::put(const std::string &key, const std::string &value) {
  send(FrameKind::Put, formatPair(key, value));
}

Result<std::string> Client::get(const std::string &key, Milliseconds timeout) {
  send(FrameKind::Get, key);
  std::unique_lock lock(mutex);
  changed.wait_for(lock, timeout,
                   [&] { return values.contains(key) || stopped; });
  if (auto found = values.find(key); found != values.end())
    return found->second;
  return Status(ErrorKind::Peer, stopped
                                     ? "stopped, since another process failed"
                                     : text("no ", key, " within ",
                                            timeout.count() / 1000.0, " s"));
}

void Client::onStop(std::function<void()> call) {
  std::lock_guard lock(calling);
  callback = std::move(call);
  bool isLate;
  {
    std::lock_guard state(mutex);
    isLate = stopped.has_value();
  }
  if (isLate && callback)
    callback();
}

void Client::note(uint32_t now) {
  {
    std::lock_guard lock(mutex);
    if (round == now)
      return;
    round = now;
  }
  send(FrameKind::Beat, formatRound(now));
}

void Client::tell(const Status &failure) {
  {
    std::lock_guard lock(mutex);
    isHandled = true;
    if (std::exchange(hasTold, true))
      return;
  }
  send(FrameKind::Failed, formatFailure(failure));
}

Status Client::fail(const Status &failure) {
  tell(failure);
  std::unique_lock lock(mutex);
  changed.wait_for(lock, kVerdict, [&] { return cause.has_value(); });
  return cause.value_or(failure);
}

void Client::leave() {
  {
    std::lock_guard lock(mutex);
    if (isLeaving)
      return;
    isLeaving = isHandled = true;
  }
  send(FrameKind::Bye, {});
}

bool Client::awaitGoodbye(Milliseconds timeout) {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, timeout,
                   [&] { return isDismissed || !socket.isOpen(); });
  return isDismissed;
}

bool Client::isCauseOfAll() const {
  std::lock_guard lock(mutex);
  return isOfAll;
}

bool Client::isHubLost() const {
  std::lock_guard lock(mutex);
  return isHubLost_;
}

bool Client::isCutOff() const {
  std::lock_guard lock(mutex);
  return isCutOff_;
}
