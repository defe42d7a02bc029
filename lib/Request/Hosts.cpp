//===- Hosts.cpp - The names of nodes -------------------------------------===//

#include "etc/Request/Hosts.h"

#include "Checks.h"
#include "Reader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace etc::request;
using namespace etc::request::json;
using llvm::Error;
using llvm::Twine;

/// Names stand between spaces in launchers' files, and in shell commands.
static bool isHostName(llvm::StringRef name) {
  return !name.empty() && name.front() != '-' &&
         llvm::all_of(name, [](char letter) {
           return llvm::isAlnum(letter) ||
                  llvm::StringRef("-_.:").contains(letter);
         });
}

Error etc::request::checkHostNames(llvm::ArrayRef<std::string> hosts,
                                   size_t nodes, const Field &field) {
  if (hosts.size() != nodes)
    return malformed(field, "expected a name for each of the " + Twine(nodes) +
                                " nodes, got " + Twine(hosts.size()));
  llvm::StringSet<> seen;
  for (const std::string &host : hosts) {
    if (!isHostName(host))
      return malformed(field, "'" + host +
                                  "' is no host name; letters, digits and "
                                  "-_.: make one");
    if (!seen.insert(host).second)
      return malformed(field, "'" + host + "' is named twice");
  }
  return Error::success();
}

Error etc::request::checkHosts(const Request &request, const Field &field) {
  if (!request.isGiven("hosts"))
    return Error::success();
  return checkHostNames(request.hosts, request.nodes.size(), field);
}

Error json::readHosts(const Input &input, Request &request) {
  return readTexts(input, request.hosts);
}
