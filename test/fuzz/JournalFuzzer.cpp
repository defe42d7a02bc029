// Journals, and what is concluded from them. Checksums would end most runs
// early, so bytes are tried as they are and with the right ones.

#include "../unit/Runtime/PlanFixture.h"

#include "core/journal/JournalFormat.h"
#include "state/inventory/Inventory.h"

#include <cstdlib>
#include <cstring>

using namespace etc::runtime;
using namespace etc::plan::test;

static const PlanIndex &fixture() {
  static const std::vector<uint8_t> bytes = etc::plan::packPlan(twoStagePlan());
  static const PlanIndex index(*etc::plan::fb::GetPlan(bytes.data()));
  return index;
}

static void conclude(std::span<const std::byte> bytes) {
  Result<JournalContents> contents = parseJournal(bytes);
  if (!contents)
    return;
  Survivors survivors(fixture().rankCount(), contents->standing);
  (void)formatInventory(fixture(), takeInventory(fixture(), survivors));
  (void)findLost(fixture(), survivors);
}

/// The same bytes with all checksums right.
static std::vector<std::byte> seal(std::vector<std::byte> bytes) {
  JournalHeader header;
  if (bytes.size() < sizeof header)
    return bytes;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.check = checkOf(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  size_t at = sizeof header;
  for (uint64_t i = 0; at + sizeof(JournalRecord) <= bytes.size(); ++i) {
    JournalRecord record;
    std::memcpy(&record, bytes.data() + at, sizeof record);
    record.check = checkOf(header, record, i);
    std::memcpy(bytes.data() + at, &record, sizeof record);
    at += sizeof record;
  }
  return bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto *first = reinterpret_cast<const std::byte *>(data);
  std::vector<std::byte> bytes(first, first + size);
  conclude(bytes);
  conclude(seal(std::move(bytes)));
  return 0;
}
