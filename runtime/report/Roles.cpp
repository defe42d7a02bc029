#include "report/Roles.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

using namespace etc::runtime;
using etc::plan::PlanIndex;
using etc::plan::Side;

namespace {

struct Place {
  uint32_t stage = 0, tensor = 0, replica = 0;
};

} // namespace

/// Takes "P12" off the front.
static std::optional<uint32_t> takeNumber(std::string_view &text, char letter) {
  if (!text.starts_with(letter))
    return std::nullopt;
  uint32_t number = 0;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data() + 1, end, number);
  if (error != std::errc())
    return std::nullopt;
  text.remove_prefix(stop - text.data());
  return number;
}

static std::optional<Place> parseRole(std::string_view text) {
  auto stage = takeNumber(text, 'P');
  auto tensor = takeNumber(text, 'T');
  auto replica = takeNumber(text, 'D');
  if (!stage || !tensor || !text.empty())
    return std::nullopt;
  return Place{*stage, *tensor, replica.value_or(0)};
}

/// The half of a program's name that a side has.
static std::string halfOf(const std::string &name, Side side) {
  constexpr std::string_view arrow = " <- ";
  size_t at = name.find(arrow);
  if (at == std::string::npos)
    return name;
  return side == Side::Curr ? name.substr(0, at)
                            : name.substr(at + arrow.size());
}

RoleTable etc::runtime::rolesOf(const PlanIndex &index, Side side) {
  RoleTable table;
  table.ofProgram.assign(index.programCount(), -1);
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, std::string>,
           std::vector<uint32_t>>
      programs;
  for (uint32_t p = 0; p != index.programCount(); ++p) {
    if (index.holdings(p, side).empty())
      continue;
    std::string name = halfOf(index.program(p).name()->str(), side);
    Place place = parseRole(name).value_or(Place{p, 0, 0});
    programs[{place.stage, place.tensor, place.replica, name}].push_back(p);
  }
  for (const auto &[key, members] : programs) {
    const auto &[stage, tensor, replica, name] = key;
    for (uint32_t p : members)
      table.ofProgram[p] = static_cast<int32_t>(table.roles.size());
    table.roles.push_back({name, stage, tensor, members.front()});
  }
  return table;
}
