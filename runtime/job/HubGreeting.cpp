// How the hub takes connections, and brings the processes together.

#include "job/Hub.h"

#include "core/plan/SystemError.h"

#include <cerrno>
#include <fcntl.h>

using namespace etc::runtime;

namespace {

/// Connections that have not said who they are, and how long they may take. The
/// oldest one goes when there are more: a process says so at once.
constexpr size_t kNewcomers = 256;
constexpr Milliseconds kGreeting{5000};

template <typename... Parts> Status usage(const Parts &...parts) {
  return Status(ErrorKind::Usage, text(parts...));
}

} // namespace

Socket Hub::duplicate(const Socket &socket) {
  return Socket(::fcntl(socket.fd(), F_DUPFD_CLOEXEC, 0));
}

/// Out of descriptors, and with all stopped, one after the other is taken with
/// the spare one.
Socket Hub::takeConnection() {
  Socket socket = accept(listener);
  isFull = !socket.isOpen() && plan::isOutOfDescriptors(errno);
  if (!isFull || !stopped || !spare.isOpen())
    return socket;
  spare.close();
  return accept(listener);
}

/// Takes connections and hears who they are. Who does not know the token can't
/// say anything.
void Hub::greet(Clock::time_point now) {
  for (size_t i = 0; i != kNewcomers; ++i) {
    Socket socket = takeConnection();
    if (!socket.isOpen())
      break;
    socket.secure(TlsSide::Accepting, options.secret);
    newcomers.push_back({std::move(socket), {}, now + kGreeting});
  }
  hearNewcomers(now);
  while (newcomers.size() > kNewcomers)
    newcomers.pop_front();
  // Strangers leave some time.
  if (isFull && newcomers.empty() && !isOpen && !stopped) {
    firstFault = usage("cannot take the connections of ", options.rankCount,
                       " processes: ", plan::describeSystemError(EMFILE));
    stop();
  }
  if (!spare.isOpen() && !isOpen && newcomers.empty())
    spare = duplicate(listener);
}

void Hub::hearNewcomers(Clock::time_point now) {
  for (auto it = newcomers.begin(); it != newcomers.end();) {
    const bool isAlive = it->socket.receive(it->in);
    // Once all are stopped, it hears why when that is known.
    const bool isHandled =
        it->in.size() >= sizeof(Hello) && (!stopped || verdict);
    if (isHandled)
      admit(*it);
    it = isHandled || !isAlive || now > it->deadline ? newcomers.erase(it)
                                                     : std::next(it);
  }
}

void Hub::admit(Newcomer &newcomer) {
  std::optional<Hello> hello =
      parseHello(std::string_view(newcomer.in).substr(0, sizeof(Hello)));
  if (!hello)
    return;
  if (isOpen)
    return tell(newcomer, false,
                usage("the processes have met, and one is rank ", hello->rank));
  if (verdict)
    return refuse(newcomer, *hello, *verdict);
  if (hello->rank >= options.rankCount || hello->rankCount != options.rankCount)
    return refuse(newcomer, *hello,
                  usage("a process is rank ", hello->rank, " of ",
                        hello->rankCount, ", the plan needs ",
                        options.rankCount));
  if (guests.contains(hello->rank))
    return refuse(newcomer, *hello,
                  usage("two processes are rank ", hello->rank));
  Guest &guest = guests[hello->rank];
  guest.socket = std::move(newcomer.socket);
  guest.hello = *hello;
  guest.heard = listening.now();
  guest.reader.feed(std::string_view(newcomer.in).substr(sizeof(Hello)));
  if (guests.size() == options.rankCount)
    welcomeAll();
}

void Hub::tell(Newcomer &newcomer, bool areAllStopped, const Status &why) {
  std::string out = areAllStopped ? formatFrame(FrameKind::Stop, {}) : "";
  out += formatFrame(FrameKind::Cause, formatFailure(why));
  (void)newcomer.socket.send(out);
}

/// One of the job that cannot take part: it is told why, and so are all.
void Hub::refuse(Newcomer &newcomer, const Hello &hello, const Status &why) {
  if (!stopped) {
    note(why);
    sendCause(why); // nothing explains it better
  }
  tell(newcomer, true, why);
  turnedAway.insert(hello.rank);
}

void Hub::welcomeAll() {
  if (Status s = compareHellos(); !s.ok())
    return note(s);
  isOpen = true;
  spare.close();
  std::vector<Hello> hellos;
  for (auto &[rank, guest] : guests) {
    hellos.push_back(guest.hello);
    guest.heard = listening.now();
  }
  sendToAll(FrameKind::Welcome, formatWelcome(hellos));
}

Status Hub::compareHellos() const {
  const Hello &first = guests.begin()->second.hello;
  for (const auto &[rank, guest] : guests) {
    if (guest.hello.planHash != first.planHash)
      return usage("rank ", rank,
                   " has another plan than rank 0; give every process the "
                   "same file");
    if (guest.hello.mode != first.mode)
      return usage("rank ", rank,
                   " has another --mode than rank 0; give every process the "
                   "same");
    if (guest.hello.isResumed != first.isResumed)
      return usage("rank ", rank,
                   guest.hello.isResumed ? " resumes" : " starts",
                   ", rank 0 does not; start all in the same way");
  }
  return Status::success();
}
