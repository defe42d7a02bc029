#include "view/simulate/Cluster.h"

#include "core/plan/InputFile.h"
#include "view/simulate/ShippedClusters.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <set>

using namespace etc::runtime;
using etc::plan::ErrorKind;
using etc::plan::Result;
using etc::plan::Status;
using etc::plan::text;
using Json = nlohmann::json;

namespace {

/// A number field, by its path in the file.
struct Field {
  const char *path;
  double Cluster::*value;
  bool mayBeZero;
};

const Field kFields[] = {
    {"/link/bytes_per_second", &Cluster::linkRate, false},
    {"/link/latency_seconds", &Cluster::linkLatency, true},
    {"/port/bytes_per_second", &Cluster::portRate, false},
    {"/port/latency_seconds", &Cluster::portLatency, true},
    {"/pack/bytes_per_second", &Cluster::packRate, false},
};

Status wrong(const std::string &path, const char *field, const char *expected) {
  return Status(ErrorKind::Usage,
                text(path, ": ", field + 1, ": expected ", expected));
}

/// A field that is ignored is a number that nobody meant.
std::optional<std::string> unknownField(const Json &json) {
  for (const auto &[group, fields] :
       std::map<std::string, std::set<std::string>>{
           {"", {"name", "link", "port", "pack"}},
           {"/link", {"bytes_per_second", "latency_seconds"}},
           {"/port",
            {"per_node", "bytes_per_second", "latency_seconds",
             "acknowledgement_share"}},
           {"/pack", {"bytes_per_second"}}}) {
    const Json::json_pointer place(group);
    if (!json.contains(place) || !json[place].is_object())
      continue;
    for (const auto &[name, value] : json[place].items())
      if (!fields.contains(name))
        return group + "/" + name;
  }
  return std::nullopt;
}

Result<Cluster> readFields(const std::string &path, const Json &json) {
  if (std::optional<std::string> unknown = unknownField(json))
    return Status(ErrorKind::Usage,
                  text(path, ": ", unknown->substr(1),
                       ": unknown field; docs/cluster-format.md has all"));
  Cluster cluster;
  cluster.name =
      json.value("name", std::filesystem::path(path).stem().string());
  for (const Field &field : kFields) {
    Json::json_pointer place(field.path);
    const bool isNumber = json.contains(place) && json[place].is_number();
    double value = isNumber ? json[place].get<double>() : -1;
    if (value < 0 || (value == 0 && !field.mayBeZero))
      return wrong(path, field.path,
                   field.mayBeZero ? "a number from 0" : "a number above 0");
    cluster.*field.value = value;
  }
  Json::json_pointer share("/port/acknowledgement_share");
  if (json.contains(share)) {
    if (!json[share].is_number() || json[share].get<double>() < 0 ||
        json[share].get<double>() >= 1)
      return wrong(path, "/port/acknowledgement_share",
                   "a number from 0 and below 1");
    cluster.acknowledgementShare = json[share].get<double>();
  }
  Json::json_pointer ports("/port/per_node");
  if (!json.contains(ports) || !json[ports].is_number_unsigned() ||
      json[ports].get<uint32_t>() == 0)
    return wrong(path, "/port/per_node", "an integer from 1");
  cluster.portsPerNode = json[ports].get<uint32_t>();
  return cluster;
}

} // namespace

std::vector<std::string> etc::runtime::shippedClusters() {
  std::vector<std::string> names;
  for (const ShippedCluster &cluster : kShippedClusters)
    names.push_back(cluster.name);
  return names;
}

Cluster etc::runtime::clusterOf(const plan::fb::Resources &resources) {
  constexpr double nanosecond = 1e-9, partPerMillion = 1e-6;
  auto toDouble = [](uint64_t value) { return static_cast<double>(value); };
  Cluster cluster;
  cluster.name = resources.name()->str();
  cluster.linkRate = toDouble(resources.link_rate());
  cluster.linkLatency = toDouble(resources.link_latency()) * nanosecond;
  cluster.portsPerNode = resources.nics();
  cluster.portRate = toDouble(resources.nic_rate());
  cluster.portLatency = toDouble(resources.nic_latency()) * nanosecond;
  cluster.packRate = toDouble(resources.pack_rate());
  cluster.acknowledgementShare = resources.acknowledgements() * partPerMillion;
  return cluster;
}

/// Units are a byte a second, a nanosecond, or a millionth.
static bool isNear(double a, double b, double unit) {
  return std::abs(a - b) < unit;
}

bool etc::runtime::hasPortsOf(const plan::fb::Resources &resources,
                              const Cluster &cluster) {
  const Cluster stated = clusterOf(resources);
  return stated.portsPerNode == cluster.portsPerNode &&
         isNear(stated.linkRate, cluster.linkRate, 1) &&
         isNear(stated.portRate, cluster.portRate, 1);
}

bool etc::runtime::isOf(const plan::fb::Resources &resources,
                        const Cluster &cluster) {
  const Cluster stated = clusterOf(resources);
  return stated.name == cluster.name && hasPortsOf(resources, cluster) &&
         isNear(stated.packRate, cluster.packRate, 1) &&
         isNear(stated.linkLatency, cluster.linkLatency, 1e-9) &&
         isNear(stated.portLatency, cluster.portLatency, 1e-9) &&
         isNear(stated.acknowledgementShare, cluster.acknowledgementShare,
                1e-6);
}

Result<Cluster> etc::runtime::parseCluster(std::string_view description,
                                           const std::string &place) {
  Json json = Json::parse(description, nullptr, false);
  if (!json.is_object())
    return Status(ErrorKind::Usage, text(place, ": expected a JSON object"));
  try {
    return readFields(place, json);
  } catch (const std::exception &error) {
    return Status(ErrorKind::Usage, text(place, ": ", error.what()));
  }
}

Result<Cluster> etc::runtime::readCluster(const std::string &nameOrPath) {
  for (const ShippedCluster &cluster : kShippedClusters)
    if (nameOrPath == cluster.name)
      return parseCluster(cluster.description, nameOrPath);
  constexpr uint64_t mostBytes = 1 << 20;
  Result<std::string> content = etc::plan::readInput(nameOrPath, mostBytes);
  if (!content)
    return content.status();
  return parseCluster(*content, nameOrPath);
}
