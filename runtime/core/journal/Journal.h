// What a device has done of a migration, on disk, so that it is known after the
// process died.

#ifndef ETC_RUNTIME_CORE_JOURNAL_JOURNAL_H
#define ETC_RUNTIME_CORE_JOURNAL_JOURNAL_H

#include "core/plan/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Result;
using plan::Status;
using plan::text;

/// When previous tensors go: at the commit of all devices, or round by round.
enum class Mode : uint32_t { Eager = 1, Safe = 2 };

/// "eager" or "safe".
inline const char *modeName(Mode mode) {
  return mode == Mode::Safe ? "safe" : "eager";
}

/// What a record says has happened; docs/reliability.md tells when.
enum class Event : uint32_t {
  Filled = 1,       // the previous state is complete
  Landed = 2,       // everything that a round writes here is here, and checked
  Acknowledged = 3, // ... and so is what it sends, so releases may follow
  Prepared = 4,     // ready to commit
  Decided = 5,      // rank 0 only: everybody was; from here on it goes forward
  Committed = 6,    // the previous state may go
  RolledBack = 7,   // the current state may go
  Stopped = 8,      // the process gave up after an error
};

/// The beginning of a journal. All integers are little-endian as in memory.
struct JournalHeader {
  char magic[8] = {'E', 'T', 'C', 'J', 'R', 'N', 'L', '1'};
  uint64_t planHash = 0;
  uint32_t device = 0;
  uint32_t rank = 0;
  uint32_t rankCount = 0;
  Mode mode = Mode::Eager;
  uint64_t check = 0; // of everything before

  bool operator==(const JournalHeader &) const = default;
};

struct JournalRecord {
  Event event = Event::Filled;
  uint32_t round = 0;
  uint64_t receivedHash = 0; // of a round's messages, Landed only
  uint64_t sentHash = 0;
  uint64_t check = 0; // of everything before, the header and the position
};

/// What a journal amounts to.
struct Standing {
  bool isFilled = false;
  uint32_t landed = 0;       // rounds 0 .. landed - 1 have landed
  uint32_t acknowledged = 0; // ... and were acknowledged
  uint32_t released = 0;     // ... and may have been released, by mode
  bool isPrepared = false;
  bool isDecided = false;
  bool isCommitted = false;
  bool isRolledBack = false;
  bool isStopped = false;

  /// What other processes are told beside how many rounds.
  static constexpr uint32_t kToldBits = 4;
  uint32_t told() const {
    return isFilled | isPrepared << 1 | isDecided << 2 | isCommitted << 3;
  }
  void hear(uint32_t told) {
    isFilled = told & 1;
    isPrepared = told & 2;
    isDecided = told & 4;
    isCommitted = told & 8;
  }
};

/// An error where a device's journal lacks what it noted before another one
/// could note this: all have their previous state before a round lands, and are
/// prepared before one commits.
Status checkNoted(const Standing &noted, const Standing &other);

struct JournalContents {
  JournalHeader header;
  std::vector<JournalRecord> records;
  Standing standing;
};

/// Reads a journal's bytes. A last record that was cut off while it was written
/// does not count; anything else that is not as written is an error of kind
/// Malformed.
Result<JournalContents> parseJournal(std::span<const std::byte> bytes);
Result<JournalContents> readJournal(const std::string &path);

/// A journal that is being written, by nobody else meanwhile: create() and
/// open() refuse one that a process still has. Records are on disk when
/// append() returns.
class Journal {
public:
  Journal() = default; // of nothing: append() succeeds and writes nothing
  Journal(Journal &&other) noexcept { swap(other); }
  Journal &operator=(Journal &&other) noexcept {
    swap(other);
    return *this;
  }
  ~Journal();

  /// Makes a new one with room for a migration of so many rounds, so that a
  /// full disk shows here.
  static Result<Journal> create(const std::string &path, JournalHeader header,
                                uint32_t rounds);
  /// Goes on with one.
  static Result<Journal> open(const std::string &path,
                              const JournalContents &contents);

  Status append(JournalRecord record);
  Status append(Event event) { return append({event, 0, 0, 0, 0}); }

  /// What the records amount to, those of nothing too. How much was released
  /// follows from the mode.
  const Standing &standing() const { return standing_; }

private:
  void swap(Journal &other);

  std::string path;
  int fd = -1;
  JournalHeader header;
  uint64_t position = 0; // records written
  Standing standing_;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_JOURNAL_JOURNAL_H
