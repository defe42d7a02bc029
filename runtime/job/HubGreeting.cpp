// How the hub takes connections, and brings the processes together.

#include "job/Hub.h"

#include "core/plan/SystemError.h"

#include <cerrno>
#include <fcntl.h>

using namespace etc::runtime;

template <typename... Parts> static Status usage(const Parts &...parts) {
  return Status(ErrorKind::Usage, text(parts...));
}

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
void Hub::greet() {
  for (size_t i = 0; i != kMostStrangers; ++i) {
    Socket socket = takeConnection();
    if (!socket.isOpen())
      break;
    strangers.add(std::move(socket), &options.secret);
  }
  strangers.hear([&](Socket &socket, const std::string &said) {
    // Once all are stopped, it hears why when that is known.
    const bool isHandled = !stopped || verdict;
    if (isHandled)
      admit(socket, said);
    return isHandled;
  });
  // Strangers leave some time.
  if (isFull && strangers.isEmpty() && !isOpen && !stopped) {
    firstFault = usage("cannot take the connections of ", options.rankCount,
                       " processes: ", plan::describeSystemError(EMFILE));
    stop();
  }
  if (!spare.isOpen() && !isOpen && strangers.isEmpty())
    spare = duplicate(listener);
}

void Hub::admit(Socket &socket, const std::string &said) {
  std::optional<Hello> hello =
      parseHello(std::string_view(said).substr(0, sizeof(Hello)));
  if (!hello)
    return;
  if (isOpen)
    return tell(socket, false,
                usage("the processes have met, and one is rank ", hello->rank));
  if (verdict)
    return refuse(socket, *hello, *verdict);
  if (hello->rank >= options.rankCount || hello->rankCount != options.rankCount)
    return refuse(socket, *hello,
                  usage("a process is rank ", hello->rank, " of ",
                        hello->rankCount, ", the plan needs ",
                        options.rankCount));
  if (guests.contains(hello->rank))
    return refuse(socket, *hello,
                  usage("two processes are rank ", hello->rank));
  Guest &guest = guests[hello->rank];
  guest.socket = std::move(socket);
  guest.hello = *hello;
  guest.heard = listening.now();
  guest.reader.feed(std::string_view(said).substr(sizeof(Hello)));
  if (guests.size() == options.rankCount)
    welcomeAll();
}

void Hub::tell(Socket &socket, bool areAllStopped, const Status &why) {
  std::string out = areAllStopped ? formatFrame(FrameKind::Stop, {}) : "";
  out += formatFrame(FrameKind::Cause, formatFailure(why));
  (void)socket.send(out);
}

/// One of the job that cannot take part: it is told why, and so are all.
void Hub::refuse(Socket &socket, const Hello &hello, const Status &why) {
  if (!stopped) {
    note(why);
    sendCause(why); // nothing explains it better
  }
  tell(socket, true, why);
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
