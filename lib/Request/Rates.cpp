//===- Rates.cpp - What the links and NICs of a cluster carry -------------===//
//
// The simulator's description of a cluster, in integers.
//
//===----------------------------------------------------------------------===//

#include "Reader.h"
#include "etc/Request/Request.h"

#include "view/simulate/Cluster.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace etc::request;
using namespace etc::request::json;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

// The IR's limits (dialect/Limits.h), in bytes a second.
static constexpr int64_t mostRate = 4'000'000'000'000,
                         mostPackRate = 1'000'000'000'000'000;
static constexpr int64_t mostNics = 1 << 20, mostSeconds = 3600;

namespace {
/// A number of the description that has to be within bounds.
struct RateCheck {
  const char *name;
  double value;
  int64_t least, most;
};
} // namespace

/// Where a rate is not what an integer of bytes a second can say.
static Error checkRates(const etc::runtime::Cluster &cluster,
                        const Field &field) {
  const RateCheck checks[] = {
      {"link.bytes_per_second", cluster.linkRate, 1, mostRate},
      {"port.bytes_per_second", cluster.portRate, 1, mostRate},
      {"pack.bytes_per_second", cluster.packRate, 1, mostPackRate},
      {"port.per_node", double(cluster.portsPerNode), 1, mostNics},
      {"link.latency_seconds", cluster.linkLatency, 0, mostSeconds},
      {"port.latency_seconds", cluster.portLatency, 0, mostSeconds}};
  for (const RateCheck &check : checks)
    if (check.value < double(check.least) || check.value > double(check.most))
      return malformed(field, "expected " + llvm::Twine(check.name) + " from " +
                                  llvm::Twine(check.least) + " to " +
                                  llvm::Twine(check.most));
  return Error::success();
}

static ClusterRates toRates(const etc::runtime::Cluster &cluster) {
  constexpr double nanosecond = 1e-9, partPerMillion = 1e-6;
  return {.name = cluster.name,
          .linkRate = std::llround(cluster.linkRate),
          .linkLatency = std::llround(cluster.linkLatency / nanosecond),
          .nics = cluster.portsPerNode,
          .nicRate = std::llround(cluster.portRate),
          .nicLatency = std::llround(cluster.portLatency / nanosecond),
          .packRate = std::llround(cluster.packRate),
          .acks = std::llround(
              std::min(cluster.acknowledgementShare, 1 - partPerMillion) /
              partPerMillion)};
}

static Expected<ClusterRates>
checkedRates(const etc::plan::Result<etc::runtime::Cluster> &cluster,
             const Field &field) {
  if (!cluster)
    return malformed(field, cluster.status().message());
  if (Error error = checkRates(*cluster, field))
    return error;
  return toRates(*cluster);
}

Expected<ClusterRates> etc::request::ratesOf(StringRef nameOrPath,
                                             const Field &field) {
  const std::string shipped =
      "; shipped clusters: " + llvm::join(runtime::shippedClusters(), ", ");
  if (nameOrPath.empty())
    return malformed(field, "expected a cluster's name or a file" + shipped);
  const auto cluster = runtime::readCluster(nameOrPath.str());
  if (!cluster)
    return malformed(field, cluster.status().message() + shipped);
  return checkedRates(cluster, field);
}

ClusterRates etc::request::assumedRates(llvm::ArrayRef<int64_t> nodes) {
  ClusterRates rates = llvm::cantFail(ratesOf("h100", Field()));
  rates.name = "H100 GPUs, a 400 Gb/s NIC each, NVLink 4";
  rates.assumed = true;
  for (int64_t devices : nodes)
    rates.nics = std::max(rates.nics, devices);
  return rates;
}

//===----------------------------------------------------------------------===//
// In a request
//===----------------------------------------------------------------------===//

/// The JSON text of numbers, strings and objects, which is all that a
/// description has.
static void print(const Node &node, llvm::raw_ostream &os) {
  switch (node.kind) {
  case Kind::Integer:
  case Kind::Number:
    os << node.text;
    return;
  case Kind::String:
    os << '"';
    for (char c : node.text)
      os << (c == '"' || c == '\\' ? "\\" : "") << c;
    os << '"';
    return;
  case Kind::Object:
    os << '{';
    for (const Member &member : node.members) {
      os << (&member == node.members.data() ? "" : ",") << '"' << member.key
         << "\":";
      print(member.value, os);
    }
    os << '}';
    return;
  case Kind::Null:
  case Kind::Bool:
  case Kind::Array:
    os << "null";
    return;
  }
}

Error json::readRates(const Input &input, ClusterRates &rates) {
  if (input.node.kind == Kind::String)
    return store(ratesOf(input.node.text, input.field), rates);
  if (input.node.kind != Kind::Object)
    return expected(input, "the name of a cluster such as \"h100\", the name "
                           "of a file, or an object");
  std::string text;
  llvm::raw_string_ostream os(text);
  print(input.node, os);
  return store(
      checkedRates(runtime::parseCluster(text, "the rates"), input.field),
      rates);
}
