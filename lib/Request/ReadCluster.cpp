//===- ReadCluster.cpp - A cluster in JSON --------------------------------===//

#include "Reader.h"
#include "etc/Request/Request.h"

using namespace etc::request;
using namespace etc::request::json;
using llvm::Error;
using llvm::StringRef;

namespace {
struct ClusterInput {
  std::vector<int64_t> nodes; ///< the list, if it is one
  std::optional<int64_t> nodeCount, devicesPerNode;
  std::optional<ClusterRates> rates;
};
} // namespace

static Error readNodes(const Input &input, ClusterInput &cluster) {
  if (input.node.kind == Kind::Array)
    return readIntegers(input, gridBounds, cluster.nodes);
  return readInteger(input, gridBounds, cluster.nodeCount.emplace());
}

static Error readDevicesPerNode(const Input &input, ClusterInput &cluster) {
  return readInteger(input, gridBounds, cluster.devicesPerNode.emplace());
}

static Error readRatesOf(const Input &input, ClusterInput &cluster) {
  return readRates(input, cluster.rates.emplace());
}

static const MemberReader<ClusterInput> clusterMembers[] = {
    {"nodes", readNodes},
    {"devices_per_node", readDevicesPerNode},
    {"rates", readRatesOf},
};

static llvm::Expected<std::vector<int64_t>> nodesOf(const Input &input,
                                                    ClusterInput cluster) {
  if (cluster.nodeCount && cluster.devicesPerNode)
    return equalNodes(*cluster.nodeCount, *cluster.devicesPerNode, input.field);
  if (cluster.nodeCount || cluster.nodes.empty() || cluster.devicesPerNode)
    return malformed(input.field,
                     "expected {\"nodes\": 6, \"devices_per_node\": 4} or "
                     "{\"nodes\": [4, 4, 8]}, got neither");
  return checkedNodes(std::move(cluster.nodes), input.field);
}

/// "6x4", or "6x4@h100".
static Error readText(const Input &input, Request &request) {
  auto [nodes, rates] = StringRef(input.node.text).split('@');
  if (Error error = store(parseCluster(nodes, input.field), request.nodes))
    return error;
  if (nodes.size() < input.node.text.size())
    return store(ratesOf(rates, input.field), request.rates);
  request.rates = assumedRates(request.nodes);
  return Error::success();
}

Error json::readCluster(const Input &input, Request &request) {
  if (input.node.kind == Kind::String)
    return readText(input, request);
  if (input.node.kind != Kind::Object)
    return expected(input, "a cluster such as \"6x4\", or an object");
  ClusterInput cluster;
  if (Error error = readMembers(input, clusterMembers, cluster))
    return error;
  const std::optional<ClusterRates> rates = cluster.rates;
  if (Error error = store(nodesOf(input, std::move(cluster)), request.nodes))
    return error;
  request.rates = rates.value_or(assumedRates(request.nodes));
  return Error::success();
}
