#include "core/net/OwnAddress.h"

#include "core/plan/SystemError.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace etc::runtime;

namespace {

constexpr char kRemedy[] =
    "; set --host (in C and Python: host) to an address of this machine that "
    "the other processes reach";

std::string ownName() {
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string describeError(int error) {
  return error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error);
}

/// Whether a socket can listen there; else errno says why not.
bool canBind(const addrinfo &info) {
  const int fd = ::socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return false;
  const bool isBound = ::bind(fd, info.ai_addr, info.ai_addrlen) == 0;
  const int error = errno;
  ::close(fd);
  errno = error;
  return isBound;
}

std::string formatAddress(const addrinfo &info) {
  char numbers[NI_MAXHOST] = "";
  ::getnameinfo(info.ai_addr, info.ai_addrlen, numbers, sizeof numbers, nullptr,
                0, NI_NUMERICHOST);
  return numbers;
}

} // namespace

Result<std::string> etc::runtime::findOwnAddress(const std::string &host) {
  const std::string name = host.empty() ? ownName() : host;
  const std::string place =
      host.empty() ? "this machine's name " + name : "host " + name;
  addrinfo hints{}, *list = nullptr;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  if (int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &list))
    return Status(ErrorKind::Usage, text(place, " does not resolve: ",
                                         describeError(error), kRemedy));
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list,
                                                             &::freeaddrinfo);
  int error = 0;
  for (const addrinfo *info = list; info; info = info->ai_next) {
    if (canBind(*info))
      return formatAddress(*info);
    error = errno;
  }
  if (plan::isOutOfDescriptors(error))
    return Status(ErrorKind::Usage,
                  "cannot open a socket: " + plan::describeSystemError(error));
  return Status(ErrorKind::Usage, text(place, " is ", formatAddress(*list),
                                       ", where this machine cannot listen: ",
                                       std::strerror(error), kRemedy));
}
