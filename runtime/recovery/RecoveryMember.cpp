#include "recovery/RecoveryMember.h"

#include "job/Membership.h"

#include <charconv>
#include <mutex>
#include <sstream>
#include <unistd.h>
#include <utility>

using namespace etc::runtime;

Standing etc::runtime::standingBefore() {
  Standing standing;
  standing.isFilled = true;
  return standing;
}

Standing etc::runtime::standingAfter(uint32_t rounds) {
  Standing standing = standingBefore();
  standing.landed = standing.acknowledged = standing.released = rounds;
  standing.isPrepared = standing.isCommitted = true;
  return standing;
}

Standing etc::runtime::standingAt(const plan::PlanIndex &index, uint32_t rank,
                                  plan::Side side) {
  if (side == plan::Side::Prev)
    return standingBefore();
  const uint32_t program = index.participant(rank).program;
  return standingAfter(index.program(program).rounds()->size());
}

uint64_t etc::runtime::processNumber() {
  static std::mutex mutex;
  static std::pair<pid_t, uint64_t> known{0, 0};
  std::lock_guard lock(mutex);
  if (known.first != ::getpid())
    known = {::getpid(), newProcessNumber()};
  return known.second;
}

std::string etc::runtime::formatMember(const RecoveryMember &member) {
  std::ostringstream out;
  out << member.device << ' ' << member.process << ' ' << member.version << ' '
      << member.claims.size();
  for (const Claim &claim : member.claims)
    out << ' ' << claim.plan << ' ' << claim.standing.told() << ' '
        << claim.standing.landed << ' ' << claim.standing.acknowledged << ' '
        << claim.standing.released;
  return out.str();
}

namespace {

/// Reads numbers with a space before each but the first. After one that is
/// none, or too large, all fail.
class NumberReader {
public:
  explicit NumberReader(std::string_view line) : line(line) {}

  template <typename T> bool read(T &value) {
    if (!isFirst && (line.empty() || line[0] != ' '))
      return isGood = false;
    line.remove_prefix(isFirst ? 0 : 1);
    isFirst = false;
    const auto [end, error] =
        std::from_chars(line.data(), line.data() + line.size(), value);
    line.remove_prefix(static_cast<size_t>(end - line.data()));
    return isGood &= error == std::errc();
  }

  bool isOver() const { return isGood && line.empty(); }

private:
  std::string_view line;
  bool isFirst = true, isGood = true;
};

bool readClaim(NumberReader &in, Claim &claim) {
  uint32_t flags = 0;
  Standing &standing = claim.standing;
  if (!in.read(claim.plan) || !in.read(flags) || !in.read(standing.landed) ||
      !in.read(standing.acknowledged) || !in.read(standing.released))
    return false;
  standing.hear(flags);
  return flags >> Standing::kToldBits == 0 &&
         standing.acknowledged <= standing.landed &&
         standing.released <= standing.acknowledged;
}

} // namespace

std::optional<RecoveryMember> etc::runtime::parseMember(std::string_view line) {
  NumberReader in(line);
  RecoveryMember member;
  uint32_t count = 0;
  if (!in.read(member.device) || !in.read(member.process) ||
      !in.read(member.version) || !in.read(count) || count > kMostClaims)
    return std::nullopt;
  member.claims.resize(count);
  for (Claim &claim : member.claims)
    if (!readClaim(in, claim))
      return std::nullopt;
  return in.isOver() ? std::optional(member) : std::nullopt;
}
