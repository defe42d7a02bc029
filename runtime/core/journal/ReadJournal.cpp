// Reading a journal that a dead process left.

#include "core/journal/JournalFormat.h"

#include "core/plan/InputFile.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

using namespace etc::runtime;
using etc::plan::malformed;

/// More than any migration writes; nothing larger is read.
constexpr uint64_t kLargestJournal = uint64_t{1} << 30;

static_assert(sizeof(JournalHeader) == 40 && sizeof(JournalRecord) == 32,
              "the format has no padding");

uint64_t etc::runtime::checkOf(const JournalHeader &header) {
  return XXH3_64bits(&header, offsetof(JournalHeader, check));
}

uint64_t etc::runtime::checkOf(const JournalHeader &header,
                               const JournalRecord &record, uint64_t position) {
  return XXH3_64bits_withSeed(&record, offsetof(JournalRecord, check),
                              header.check + position);
}

static Status advanceRounds(Standing &standing, const JournalRecord &record) {
  if (!standing.isFilled || standing.isPrepared)
    return malformed("a round outside of the migration");
  const bool isLanding = record.event == Event::Landed;
  uint32_t &count = isLanding ? standing.landed : standing.acknowledged;
  if (record.round != count || record.round == ~uint32_t{0})
    return malformed("round ", record.round, " where ", count, " follows");
  ++count;
  return standing.acknowledged <= standing.landed
             ? Status::success()
             : malformed("round ", record.round,
                         " acknowledged before it landed");
}

Status etc::runtime::advance(Standing &standing, const JournalRecord &record) {
  const bool isOver = standing.isCommitted || standing.isRolledBack;
  auto require = [](bool holds) {
    return holds ? Status::success() : malformed("an event out of order");
  };
  switch (record.event) {
  case Event::Filled:
    standing.isStopped = false;
    if (standing.isFilled)
      return require(false);
    standing.isFilled = true;
    return require(!isOver);
  case Event::Landed:
  case Event::Acknowledged:
    standing.isStopped = false;
    return advanceRounds(standing, record);
  case Event::Prepared:
    standing.isStopped = false;
    standing.isPrepared = true;
    return require(standing.isFilled && !isOver);
  case Event::Decided:
    standing.isDecided = true;
    return require(standing.isPrepared && !isOver);
  case Event::Committed:
    standing.isStopped = false;
    standing.isCommitted = true;
    return require(standing.isPrepared && !standing.isRolledBack);
  case Event::RolledBack:
    standing.isRolledBack = true;
    return require(!standing.isDecided && !standing.isCommitted);
  case Event::Stopped:
    standing.isStopped = true;
    return Status::success();
  }
  return malformed("an unknown event");
}

Status etc::runtime::checkNoted(const Standing &noted, const Standing &other) {
  if ((other.isDecided || other.isCommitted) && !noted.isPrepared)
    return malformed("lost its last records: the migration is committed, "
                     "but not that this device was ready");
  if ((other.landed > 0 || other.isPrepared) && !noted.isFilled)
    return malformed("lost its records: rounds have landed, but not the "
                     "previous state of this device");
  return Status::success();
}

namespace {

class JournalParser {
public:
  explicit JournalParser(std::span<const std::byte> bytes) : bytes(bytes) {}

  Result<JournalContents> parse() {
    if (Status s = parseHeader(); !s.ok())
      return s;
    const uint64_t count =
        (bytes.size() - sizeof(JournalHeader)) / sizeof(JournalRecord);
    for (uint64_t i = 0; i != count; ++i) {
      JournalRecord record = recordAt(i);
      if (record.check != checkOf(contents.header, record, i))
        return isBlankAfter(i) ? Result(contents)
                               : Result<JournalContents>(
                                     malformed("damaged: record ", i,
                                               " does not match its checksum"));
      if (Status s = advance(contents.standing, record); !s.ok())
        return s.at(text("record ", i));
      contents.records.push_back(record);
      if (contents.header.mode == Mode::Eager)
        contents.standing.released = contents.standing.acknowledged;
    }
    return contents;
  }

private:
  Status parseHeader() {
    JournalHeader &header = contents.header;
    if (bytes.size() < sizeof header)
      return malformed("not a journal: ", bytes.size(), " bytes");
    const JournalHeader expected;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0)
      return malformed("not a journal of this version (expected ETCJRNL1)");
    if (header.check != checkOf(header))
      return malformed("damaged: the header does not match its checksum");
    if (header.mode != Mode::Eager && header.mode != Mode::Safe)
      return malformed("unknown mode ", static_cast<uint32_t>(header.mode));
    if (header.rank >= header.rankCount)
      return malformed("rank ", header.rank, " is not in [0, ",
                       header.rankCount, ")");
    return Status::success();
  }

  JournalRecord recordAt(uint64_t i) const {
    JournalRecord record;
    std::memcpy(&record,
                bytes.data() + sizeof(JournalHeader) + i * sizeof record,
                sizeof record);
    return record;
  }

  /// Whether nothing was written after record `i`.
  bool isBlankAfter(uint64_t i) const {
    auto rest =
        bytes.subspan(sizeof(JournalHeader) + (i + 1) * sizeof(JournalRecord));
    return std::all_of(rest.begin(), rest.end(),
                       [](std::byte b) { return b == std::byte{0}; });
  }

  std::span<const std::byte> bytes;
  JournalContents contents;
};

} // namespace

Result<JournalContents>
etc::runtime::parseJournal(std::span<const std::byte> bytes) {
  return JournalParser(bytes).parse();
}

Result<JournalContents> etc::runtime::readJournal(const std::string &path) {
  Result<std::string> bytes = plan::readInput(path, kLargestJournal);
  if (!bytes)
    return bytes.status();
  Result<JournalContents> contents =
      parseJournal(std::as_bytes(std::span(*bytes)));
  return contents ? contents
                  : Result<JournalContents>(contents.status().at(path));
}
