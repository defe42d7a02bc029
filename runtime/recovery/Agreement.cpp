#include "recovery/Agreement.h"

#include "job/Excluded.h"

#include <algorithm>
#include <map>
#include <thread>

using namespace etc::runtime;

std::string etc::runtime::keyOf(uint32_t generation, const std::string &name) {
  return text("recovery/", generation, "/", name);
}

std::string
etc::runtime::formatMembers(const std::vector<RecoveryMember> &members) {
  std::string out;
  for (const RecoveryMember &member : members)
    out += formatMember(member) + "\n";
  return out;
}

std::optional<std::vector<RecoveryMember>>
etc::runtime::parseMembers(std::string_view text) {
  std::vector<RecoveryMember> members;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == text.npos)
      return std::nullopt;
    std::optional<RecoveryMember> member = parseMember(text.substr(0, end));
    if (!member ||
        (!members.empty() && members.back().device >= member->device))
      return std::nullopt;
    members.push_back(std::move(*member));
    text.remove_prefix(end + 1);
  }
  return members;
}

namespace {

constexpr Milliseconds kAtOnce{1};
/// Between two looks.
constexpr Milliseconds kLook{20};
/// A store that takes longer for an answer has lost its hub.
constexpr Milliseconds kAnswer{250};
/// By which the next process waits longer for the one before to decide.
constexpr Milliseconds kTurn{500};

std::string describeDevices(const std::vector<RecoveryMember> &members) {
  std::string out;
  for (const RecoveryMember &member : members)
    out += text(out.empty() ? "" : ", ", member.device);
  return out;
}

class Meeting {
public:
  explicit Meeting(const AgreementOptions &options)
      : options(options), generation(options.generation + 1) {}

  Result<Agreement> hold() {
    while (true) {
      // First: a store may not answer before somebody has put something there.
      if (Status s = announce(); !s.ok())
        return s;
      Result<std::optional<std::vector<RecoveryMember>>> decided =
          look(generation);
      if (!decided)
        return decided.status();
      if (!*decided && options.deadline.isOver())
        return late();
      if (!*decided) {
        if (Status s = takePart(); !s.ok())
          return s;
        std::this_thread::sleep_for(kLook);
      } else {
        std::optional<Result<Agreement>> result = read(std::move(**decided));
        if (result)
          return std::move(*result);
        nextGeneration();
      }
    }
  }

private:
  /// What the members mean to this process; nothing if it joins a later one.
  std::optional<Result<Agreement>> read(std::vector<RecoveryMember> members) {
    const RecoveryMember &self = options.self;
    const auto own =
        std::find_if(members.begin(), members.end(), [&](const auto &member) {
          return member.device == self.device && member.process == self.process;
        });
    std::optional<Result<Agreement>> result;
    if (own == members.end())
      result = excludedBy(generation, members);
    else if (formatMember(*own) != formatMember(self))
      result = Status(ErrorKind::Excluded,
                      text("the others went on with what this process held "
                           "earlier: recovery ",
                           generation, " has it at step ", own->version));
    else
      result = conclude(std::move(members));
    const bool isExcluded =
        !*result && result->status().kind() == ErrorKind::Excluded;
    return isExcluded && self.holdsNothing() ? std::nullopt : result;
  }

  Status excludedBy(uint32_t recovery,
                    const std::vector<RecoveryMember> &members) const {
    std::string why = text("recovery ", recovery, " is of devices ",
                           describeDevices(members));
    for (const RecoveryMember &member : members)
      if (member.device == options.self.device &&
          member.process != options.self.process)
        why += text("; another process is device ", member.device);
    return excluded(why);
  }

  /// What keeps those that are here from going on, also where it was never this
  /// process's turn to look. One that holds nothing can't tell.
  Status late() {
    std::string why = "no process that holds state has decided";
    if (!options.self.holdsNothing()) {
      if (Status s = hear(); !s.ok())
        return s;
      if (Status s = options.check(presentMembers()); !s.ok())
        why = s.message();
    }
    return Status(
        ErrorKind::Peer,
        text("no recovery within ", options.deadline.seconds(), " s: ", why));
  }

  void nextGeneration() {
    ++generation;
    present.clear();
    isAnnounced = false;
  }

  /// What is there now. Time in which the store finds its next hub is not that
  /// of the others, who can't say that they are there.
  Result<std::string> get(const std::string &key) {
    const auto asked = Deadline::Clock::now();
    Result<std::string> value = options.rendezvous->get(key, Deadline(kAtOnce));
    const auto took = Deadline::Clock::now() - asked;
    if (took > kAnswer) {
      begin += took;
      lastCame += took;
    }
    return value;
  }

  Result<std::optional<std::vector<RecoveryMember>>> look(uint32_t at) {
    using Found = std::optional<std::vector<RecoveryMember>>;
    const Result<std::string> value = get(keyOf(at, "members"));
    if (!value && value.status().kind() == ErrorKind::Peer)
      return Found();
    if (!value)
      return value.status();
    Found members = parseMembers(*value);
    if (!members)
      return Status(
          ErrorKind::Malformed,
          text(keyOf(at, "members"), ": not the members of a recovery"));
    return members;
  }

  /// A process that slept may find that there is a later one already.
  Result<Agreement> conclude(std::vector<RecoveryMember> members) {
    Result<std::optional<std::vector<RecoveryMember>>> later =
        look(generation + 1);
    if (!later)
      return later.status();
    if (*later)
      return excludedBy(generation + 1, **later);
    return Agreement{generation, std::move(members)};
  }

  Status announce() {
    if (isAnnounced)
      return Status::success();
    isAnnounced = true;
    begin = lastCame = Deadline::Clock::now();
    present[options.self.device] = options.self;
    return options.rendezvous->put(
        keyOf(generation, text("held/", options.self.device)),
        formatMember(options.self));
  }

  Status takePart() {
    if (options.self.holdsNothing())
      return Status::success();
    if (Status s = hear(); !s.ok())
      return s;
    return isMyTurn() ? propose() : Status::success();
  }

  Status hear() {
    for (uint32_t device : options.expected) {
      if (present.contains(device))
        continue;
      Result<std::optional<RecoveryMember>> member = ask(device);
      if (!member)
        return member.status();
      if (*member) {
        present[device] = std::move(**member);
        lastCame = Deadline::Clock::now();
      }
    }
    return Status::success();
  }

  /// What a device's process says of itself; nothing where it is not there.
  Result<std::optional<RecoveryMember>> ask(uint32_t device) {
    using Found = std::optional<RecoveryMember>;
    const Result<std::string> value =
        get(keyOf(generation, text("held/", device)));
    if (!value && value.status().kind() != ErrorKind::Peer)
      return value.status();
    Found member = value ? parseMember(*value) : std::nullopt;
    return member && member->device == device ? std::move(member) : Found();
  }

  /// Whether those who came are still there. One may have been replaced by a
  /// new process of its device, or have left without an agreement, and the
  /// others would wait for it.
  Result<bool> hearAgain() {
    bool isSame = true;
    for (auto it = present.begin(); it != present.end();) {
      auto &[device, known] = *it;
      const Result<std::optional<RecoveryMember>> now =
          device == options.self.device ? std::optional(known) : ask(device);
      if (!now)
        return now.status();
      if (*now && formatMember(**now) == formatMember(known)) {
        ++it;
        continue;
      }
      isSame = false;
      if (*now) {
        (it++)->second = **now;
        lastCame = Deadline::Clock::now();
      } else {
        it = present.erase(it);
      }
    }
    return isSame;
  }

  /// All who come before this one have had time to decide, and those who come
  /// with the last ones to join it: this process may have waited for long.
  bool isMyTurn() const {
    const auto before =
        std::count_if(present.begin(), present.end(), [&](const auto &entry) {
          return entry.first < options.self.device &&
                 !entry.second.holdsNothing();
        });
    const bool areAllHere =
        std::all_of(options.expected.begin(), options.expected.end(),
                    [&](uint32_t device) { return present.contains(device); });
    const auto end =
        std::max(begin + options.patience, lastCame + options.patience / 2);
    return (areAllHere && before == 0) ||
           Deadline::Clock::now() >= end + kTurn * before;
  }

  std::vector<RecoveryMember> presentMembers() const {
    std::vector<RecoveryMember> members;
    for (const auto &[device, member] : present)
      members.push_back(member);
    return members;
  }

  Status propose() {
    const std::vector<RecoveryMember> members = presentMembers();
    if (!options.check(members).ok())
      return Status::success(); // others may come yet
    Result<bool> isSame = hearAgain();
    if (!isSame || !*isSame)
      return isSame.status();
    return options.rendezvous
        ->putFirst(keyOf(generation, "members"), formatMembers(members))
        .status();
  }

  const AgreementOptions &options;
  uint32_t generation;
  std::map<uint32_t, RecoveryMember> present;
  bool isAnnounced = false;
  Deadline::Clock::time_point begin, lastCame;
};

} // namespace

Result<Agreement> etc::runtime::agree(const AgreementOptions &options) {
  return Meeting(options).hold();
}
