#include "core/plan/World.h"

using namespace etc::plan;

/// No cluster has more, and no process expands more of what a file states.
constexpr uint64_t kMost = uint64_t{1} << 24;

std::vector<uint32_t> etc::plan::toSpans(const std::vector<uint32_t> &numbers) {
  std::vector<uint32_t> spans;
  for (uint32_t number : numbers) {
    if (!spans.empty() && spans.back() == number)
      ++spans.back();
    else
      spans.insert(spans.end(), {number, number + 1});
  }
  return spans;
}

std::vector<uint32_t> etc::plan::toRuns(const std::vector<uint32_t> &numbers) {
  std::vector<uint32_t> runs;
  for (uint32_t number : numbers) {
    if (!runs.empty() && runs.back() == number)
      ++runs[runs.size() - 2];
    else
      runs.insert(runs.end(), {1, number});
  }
  return runs;
}

using Uints = flatbuffers::Vector<uint32_t>;

static Result<std::vector<uint32_t>> readSpans(const Uints &spans) {
  std::vector<uint32_t> numbers;
  if (spans.size() % 2)
    return malformed("slice.participants: an odd number of entries");
  for (uint32_t i = 0; i != spans.size(); i += 2) {
    const uint32_t begin = spans[i], end = spans[i + 1];
    if (end <= begin || (i && begin <= spans[i - 1]))
      return malformed("slice.participants[", i,
                       "]: spans ascend and are not empty");
    if (numbers.size() + (end - begin) > kMost)
      return malformed("slice.participants: more than ", kMost, " devices");
    for (uint32_t number = begin; number != end; ++number)
      numbers.push_back(number);
  }
  return numbers;
}

static Result<std::vector<uint32_t>> readRuns(const Uints &runs) {
  std::vector<uint32_t> numbers;
  if (runs.size() % 2)
    return malformed("slice.nodes: an odd number of entries");
  for (uint32_t i = 0; i != runs.size(); i += 2) {
    if (runs[i] == 0 || numbers.size() + runs[i] > kMost)
      return malformed("slice.nodes[", i, "]: ", runs[i],
                       " nodes, a run has 1 to ", kMost);
    numbers.insert(numbers.end(), runs[i], runs[i + 1]);
  }
  return numbers;
}

Result<World> etc::plan::readWorld(const fb::Plan &plan) {
  const fb::Slice *slice = plan.slice();
  if (!slice)
    return World{{plan.nodes()->begin(), plan.nodes()->end()},
                 {plan.participants()->begin(), plan.participants()->end()}};
  Result<std::vector<uint32_t>> nodes = readRuns(*slice->nodes());
  if (!nodes)
    return nodes.status();
  Result<std::vector<uint32_t>> participants =
      readSpans(*slice->participants());
  if (!participants)
    return participants.status();
  return World{std::move(*nodes), std::move(*participants)};
}
