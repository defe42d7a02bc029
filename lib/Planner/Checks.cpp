//===- Checks.cpp - What a verb can be asked for --------------------------===//

#include "etc/Planner/Checks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace etc;
using llvm::Error;
using llvm::Twine;

static Error refuse(const char *field, const Twine &text) {
  return request::malformed({{}, field}, text);
}

Error etc::checkComparable(const request::Request &request) {
  if (request.policy == "paper")
    return refuse("policy", "plans of \"best\" are compared here, got "
                            "\"paper\"; leave the policy out");
  if (request.curr.devices)
    return refuse("curr.devices",
                  "devices are chosen here; leave those of curr out");
  return Error::success();
}

Error etc::checkTwoStage(const request::Request &request) {
  if (request.policy == "paper")
    return Error::success();
  return refuse("policy", "two stages are of the paper's method; set the "
                          "policy to \"paper\"");
}

Error etc::checkRates(const Rates &rates) {
  if (rates.areValid())
    return Error::success();
  return refuse("rates", "expected 0.001 to 1000000 GB/s between nodes and "
                         "inside one");
}

/// Names stand between spaces in launchers' files, and in shell commands.
static bool isHostName(llvm::StringRef name) {
  return !name.empty() && name.front() != '-' &&
         llvm::all_of(name, [](char letter) {
           return llvm::isAlnum(letter) ||
                  llvm::StringRef("-_.:").contains(letter);
         });
}

Error etc::checkHosts(llvm::ArrayRef<std::string> hosts, size_t nodes) {
  if (hosts.size() != nodes)
    return refuse("hosts", "expected a name for each of the " + Twine(nodes) +
                               " nodes, got " + Twine(hosts.size()));
  llvm::StringSet<> seen;
  for (const std::string &host : hosts) {
    if (!isHostName(host))
      return refuse("hosts", "'" + host +
                                 "' is no host name; letters, digits and -_.: "
                                 "make one");
    if (!seen.insert(host).second)
      return refuse("hosts", "'" + host + "' is named twice");
  }
  return Error::success();
}
