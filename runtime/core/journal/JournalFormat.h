// The checks that hold a journal's bytes together; private to it.

#ifndef ETC_RUNTIME_CORE_JOURNAL_JOURNALFORMAT_H
#define ETC_RUNTIME_CORE_JOURNAL_JOURNALFORMAT_H

#include "core/journal/Journal.h"

namespace etc::runtime {

uint64_t checkOf(const JournalHeader &header);
/// A record moved or taken from another journal does not check.
uint64_t checkOf(const JournalHeader &header, const JournalRecord &record,
                 uint64_t position);

/// Takes a record into account. The error says why it cannot follow.
Status advance(Standing &standing, const JournalRecord &record);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_JOURNAL_JOURNALFORMAT_H
