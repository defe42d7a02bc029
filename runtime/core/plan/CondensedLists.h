// The lists of numbers of a condensed plan, which a file states packed.
// docs/plan-format.md explains what they mean, and how they are packed.

#ifndef ETC_PLAN_CONDENSEDLISTS_H
#define ETC_PLAN_CONDENSEDLISTS_H

#include "core/plan/Status.h"
#include "core/plan/plan_generated.h"

#include <cstdint>
#include <vector>

namespace etc::plan {

/// Of one program.
struct ProgramLists {
  std::vector<uint32_t> peers;      // in place of its peers: slot by slot
  std::vector<fb::Step> steps;      // in place of rounds
  std::vector<uint32_t> prev_lists; // numbers of lists, in place of shards
  std::vector<uint32_t> curr_lists;
};

struct CondensedLists {
  std::vector<fb::NameRun> names; // the plan's tensors are those of each name
  std::vector<uint32_t> numbers;  // of the first name of each run
  std::vector<int64_t> bounds;    // of the plan, as boxes and shards are
  std::vector<uint32_t> boxes;
  std::vector<fb::Shard> shards;
  std::vector<uint32_t> held; // numbers of shards
  std::vector<fb::Run> lists; // of held
  std::vector<uint32_t> rounds;
  std::vector<fb::Run> cuts; // of rounds
  std::vector<fb::Piece> pieces;
  std::vector<fb::Run> splits; // of pieces
  std::vector<fb::Item> items;
  std::vector<fb::Run> flows; // of items
  std::vector<ProgramLists> programs;
};

std::vector<uint8_t> packLists(const CondensedLists &lists);

/// The lists of a condensed plan, whatever they refer to. An entry of 16 bytes
/// takes at least 4 bytes of the file, so they fit into memory.
Result<CondensedLists> unpackLists(const fb::Plan &plan);

/// That lists and templates refer to what is there, and that the plan that they
/// state needs no more memory than a file of `fileBytes` may ask for.
Status checkLists(const fb::Plan &plan, const CondensedLists &lists,
                  uint64_t fileBytes);

} // namespace etc::plan

#endif // ETC_PLAN_CONDENSEDLISTS_H
