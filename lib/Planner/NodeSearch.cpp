//===- NodeSearch.cpp - Choosing the nodes that leave ---------------------===//

#include "NodeSearch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"

#include <numeric>

using namespace etc;

using NodeSignature = std::vector<std::pair<int64_t, bool>>;

NodeSearch::NodeSearch(PlacementTrials &trials, Place place, bool totalFirst)
    : trials(trials), place(place), totalFirst(totalFirst), firstDevice{0} {
  std::map<NodeSignature, size_t> numbers;
  for (auto [node, signature] : llvm::enumerate(trials.nodeSignatures())) {
    firstDevice.push_back(firstDevice.back() + signature.size());
    // A node that can take no role is not there to be given back.
    if (llvm::none_of(signature, [](auto device) { return device.second; }))
      continue;
    auto [it, isNew] = numbers.try_emplace(signature, classes.size());
    if (isNew)
      classes.emplace_back();
    classes[it->second].push_back(node);
  }
  // A trial takes time in proportion to the devices.
  limit = std::clamp<int64_t>(4'000'000 / firstDevice.back(), 100, 1000);
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

std::vector<int64_t> NodeSearch::nodesOf(const NodeChoice &choice) const {
  std::vector<int64_t> nodes;
  for (auto [number, list] : llvm::zip_equal(choice, classes))
    nodes.insert(nodes.end(), list.end() - number, list.end());
  llvm::sort(nodes);
  return nodes;
}

std::vector<int64_t> NodeSearch::devicesOf(const NodeChoice &choice) const {
  std::vector<int64_t> devices;
  for (int64_t node : nodesOf(choice))
    for (int64_t d = firstDevice[node]; d < firstDevice[node + 1]; ++d)
      devices.push_back(d);
  return devices;
}

double NodeSearch::alike(const NodeChoice &choice) const {
  double sets = 1;
  for (auto [number, list] : llvm::zip_equal(choice, classes))
    for (int64_t i = 0; i < number; ++i)
      sets = sets * (list.size() - i) / (i + 1);
  return sets;
}

size_t NodeSearch::classOf(int64_t node) const {
  return llvm::find_if(
             classes,
             [&](const auto &list) { return llvm::is_contained(list, node); }) -
         classes.begin();
}

/// The number of ways to take `count` nodes out of the classes, at most `most`.
static int64_t countChoices(const std::vector<std::vector<int64_t>> &classes,
                            int64_t count, int64_t most) {
  std::vector<int64_t> ways(count + 1);
  ways[0] = 1;
  for (const std::vector<int64_t> &list : classes) {
    std::vector<int64_t> next(count + 1);
    for (int64_t left = 0; left <= count; ++left)
      for (int64_t i = 0; i <= std::min<int64_t>(left, list.size()); ++i)
        next[left] = std::min(most, next[left] + ways[left - i]);
    ways = std::move(next);
  }
  return ways[count];
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

NodeSearch::Cost NodeSearch::costOf(const Volumes &volumes) const {
  return totalFirst ? Cost{volumes.moved, volumes.internode}
                    : Cost{volumes.internode, volumes.moved};
}

std::optional<NodeSearch::Cost>
NodeSearch::tryChoice(const NodeChoice &choice) {
  auto [it, isNew] = tried.try_emplace(choice);
  if (isNew) {
    std::vector<int64_t> draining = devicesOf(choice);
    if (auto result = trials.run({place, totalFirst, draining}))
      it->second = result->volumes;
    bool isWhole =
        std::accumulate(choice.begin(), choice.end(), int64_t(0)) == count;
    reached += isWhole && it->second && costOf(*it->second) == bound;
  }
  if (!it->second)
    return std::nullopt;
  return costOf(*it->second);
}

void NodeSearch::tryAll(NodeChoice &choice, size_t from, int64_t left) {
  if (from == classes.size()) {
    if (left == 0)
      tryChoice(choice);
    return;
  }
  for (int64_t number = 0;
       number <= std::min<int64_t>(left, classes[from].size()) && !isEnough();
       ++number) {
    choice[from] = number;
    tryAll(choice, from + 1, left - number);
  }
  choice[from] = 0;
}

/// Whether one cost is less than another; none is worse than any.
template <typename Cost>
static bool isLess(const std::optional<Cost> &a, const std::optional<Cost> &b) {
  return a && (!b || *a < *b);
}

/// Node by node, the one that is cheapest beside those that are chosen.
NodeChoice NodeSearch::grow(int64_t count) {
  NodeChoice choice(classes.size());
  for (int64_t step = 0; step < count; ++step) {
    std::optional<size_t> best;
    std::optional<Cost> bestCost;
    for (size_t i = 0; i < classes.size(); ++i) {
      if (choice[i] == static_cast<int64_t>(classes[i].size()))
        continue;
      ++choice[i];
      std::optional<Cost> cost = tryChoice(choice);
      --choice[i];
      if (!best || isLess(cost, bestCost)) {
        best = i;
        bestCost = cost;
      }
    }
    ++choice[*best];
  }
  return choice;
}

/// The nodes that a packed placement leaves free, the highest first, then the
/// highest of the others.
NodeChoice NodeSearch::leaveFree(int64_t count) {
  llvm::SmallSet<int64_t, 16> used;
  if (auto packed = trials.run({Place::Pack, totalFirst, {}}))
    for (int64_t device : packed->placement)
      used.insert(llvm::upper_bound(firstDevice, device) - firstDevice.begin() -
                  1);
  std::vector<std::pair<bool, int64_t>> nodes;
  for (const std::vector<int64_t> &list : classes)
    for (int64_t node : list)
      nodes.push_back({used.contains(node), -node});
  llvm::sort(nodes);
  NodeChoice choice(classes.size());
  for (auto [isUsed, node] : llvm::ArrayRef(nodes).take_front(count))
    ++choice[classOf(-node)];
  return choice;
}

/// The first exchange of a node of one class for one of another that is
/// cheaper.
bool NodeSearch::improveOnce(NodeChoice &choice) {
  std::optional<Cost> cost = tryChoice(choice);
  if (cost == bound)
    return false;
  for (size_t out = 0; out < classes.size(); ++out)
    for (size_t in = 0; in < classes.size(); ++in) {
      if (in == out || choice[out] == 0 ||
          choice[in] == static_cast<int64_t>(classes[in].size()))
        continue;
      if (static_cast<int64_t>(tried.size()) >= limit)
        return false;
      NodeChoice other = choice;
      --other[out];
      ++other[in];
      if (isLess(tryChoice(other), cost)) {
        choice = std::move(other);
        return true;
      }
    }
  return false;
}

void NodeSearch::improve(NodeChoice choice) {
  while (improveOnce(choice))
    continue;
}

void NodeSearch::run(int64_t nodes, const Volumes &least, size_t most) {
  count = nodes;
  bound = costOf(least);
  enough = most;
  choices = countChoices(classes, count, limit + 1);
  if (choices <= limit) {
    NodeChoice choice(classes.size());
    tryAll(choice, 0, count);
    return;
  }
  improve(leaveFree(count));
  if (!isComplete() &&
      static_cast<int64_t>(tried.size() + count * classes.size()) <= limit)
    improve(grow(count));
}

std::vector<std::pair<NodeChoice, Volumes>>
NodeSearch::best(size_t most) const {
  std::vector<std::pair<NodeChoice, Volumes>> found;
  for (const auto &[choice, volumes] : tried)
    if (volumes &&
        std::accumulate(choice.begin(), choice.end(), int64_t(0)) == count)
      found.push_back({choice, *volumes});
  llvm::stable_sort(found, [&](const auto &a, const auto &b) {
    return std::pair(costOf(a.second), nodesOf(a.first)) <
           std::pair(costOf(b.second), nodesOf(b.first));
  });
  found.resize(std::min(most, found.size()));
  return found;
}
