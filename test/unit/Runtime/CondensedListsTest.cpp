// The lists of condensed plans: how they are packed, and that malformed ones
// are refused.

#include "ChangedLists.h"

#include <gtest/gtest.h>

#include <limits>

using namespace etc;
using namespace etc::plan;
using namespace etc::plan::test;

namespace {

TEST(CondensedListsTest, MalformedTables) {
  const std::vector<uint8_t> bytes = condensePlan(packPlan(twoStagePlan()));
  struct Case {
    Change change;
    const char *message;
  };
  const Case cases[] = {
      {[](fb::PlanT &p, CondensedLists &) { p.features = 0; },
       "features: a condensed plan has flag 128, and no other"},
      {[](fb::PlanT &p, CondensedLists &) { p.condensed.reset(); },
       "features: a condensed plan has flag 128, and no other"},
      {[](fb::PlanT &, CondensedLists &l) { l.flows[0].mutate_count(0); },
       "condensed.flows[0]: 0 from 0 on, of 12"},
      {[](fb::PlanT &, CondensedLists &l) { l.flows[0].mutate_first(~0u); },
       "condensed.flows[0]: 1 from 4294967295 on, of 12"},
      {[](fb::PlanT &, CondensedLists &l) { l.cuts[0].mutate_count(~0u); },
       "condensed.cuts[0]: 4294967295 from 0 on, of 2"},
      {[](fb::PlanT &, CondensedLists &l) { l.lists.back().mutate_count(99); },
       "condensed.lists[4]: 99 from 7 on, of 11"},
      {[](fb::PlanT &, CondensedLists &l) { l.rounds[0] = 2; },
       "condensed.rounds[0]: 2 is not in [0, 2)"},
      {[](fb::PlanT &, CondensedLists &l) { l.held[1] = 99; },
       "condensed.held[1]: 99 is not in [0, 11)"},
      {[](fb::PlanT &, CondensedLists &l) { l.items[0].mutate_tensor(5); },
       "condensed.items[0].tensor: 1 from 5 on, of 5"},
      {[](fb::PlanT &, CondensedLists &l) { l.items[0].mutate_source(~0u); },
       "condensed.items[0].source: 1 from 4294967295 on, of 5"},
      {[](fb::PlanT &, CondensedLists &l) { l.items[0].mutate_count(0); },
       "condensed.items[0].count: 0 is not at least 1"},
      {[](fb::PlanT &, CondensedLists &l) { l.items[0].mutate_count(~0u); },
       "condensed.items[0].tensor: 4294967295 from 4 on, of 5"},
      {[](fb::PlanT &, CondensedLists &l) { l.items[0].mutate_split(99); },
       "condensed.items[0].split: 99 is not in [0, 9)"},
      {[](fb::PlanT &, CondensedLists &l) { l.splits[1].mutate_count(99); },
       "condensed.splits[1]: 99 from 1 on, of 9"},
      {[](fb::PlanT &, CondensedLists &l) { l.pieces[0].mutate_cut(99); },
       "condensed.pieces[0].cut: 99 is not in [0, 2)"},
      {[](fb::PlanT &, CondensedLists &l) { l.pieces[0].mutate_box(~0u); },
       "condensed.pieces[0].box: ends at 4294967299 of 34"},
      {[](fb::PlanT &, CondensedLists &l) {
         l.shards[1] = fb::Shard(l.shards[1].tensor(), 0, 99);
       },
       "condensed.shards[1]: boxes [0, 99) are not in [0, 7)"},
      {[](fb::PlanT &, CondensedLists &l) {
         l.boxes.assign(9, 0);
         l.shards[1] = l.shards[2] = fb::Shard(l.shards[1].tensor(), 0, 9);
       },
       "condensed.shards[2].first_box: 0, the boxes of a shard before end at "
       "9"},
      {[](fb::PlanT &p, CondensedLists &) {
         p.condensed->templates[0]->tensors[0]->type = "a\nb";
       },
       "tensors[0]: its name or type has a control character"},
      {[](fb::PlanT &p, CondensedLists &) {
         p.condensed->templates[0]->name += '\0';
       },
       "tensors[0]: its name or type has a control character"},
      {[](fb::PlanT &p, CondensedLists &) {
         p.tensors.push_back(std::make_unique<fb::TensorT>());
       },
       "tensors: a condensed plan has none"},
      {[](fb::PlanT &p, CondensedLists &) {
         p.condensed->templates[1]->tensors.clear();
       },
       "condensed.templates[1].tensors: none"},
      {[](fb::PlanT &p, CondensedLists &) {
         p.condensed->templates[1]->tensors[0]->name = "w";
       },
       "condensed.templates[1].tensors[0].name: a tensor of a template has "
       "none of its own"},
      {[](fb::PlanT &p, CondensedLists &) {
         p.condensed->templates[1]->tensors[0]->shape = {};
       },
       "condensed.templates[1].tensors[0].shape: 0 axes, from 1 to 8 are "
       "allowed"},
      {[](fb::PlanT &p, CondensedLists &) {
         p.condensed->templates[1]->tensors[1]->tied_to = 9;
       },
       "tensors[2].tied_to: 11 is not in [0, 5)"},
      {[](fb::PlanT &p, CondensedLists &) {
         p.condensed->templates[0]->tensors[0]->derived_from = -1;
       },
       "tensors[0].derived_from: -1 is not in [0, 5)"},
      {[](fb::PlanT &, CondensedLists &l) { l.names[0].mutate_index(9); },
       "condensed.names[0].index: 9 is not in [0, 4)"},
      {[](fb::PlanT &, CondensedLists &l) { l.names[1].mutate_count(0); },
       "condensed.names[1].count: 0 names of a template with 0 numbers"},
      {[](fb::PlanT &, CondensedLists &l) { l.names[1].mutate_count(2); },
       "condensed.names[1].count: 2 names of a template with 0 numbers"},
      {[](fb::PlanT &, CondensedLists &l) { l.numbers = {1}; },
       "condensed.numbers: 1, the names have 0"},
      // The same name twice is looked at once it is there.
      {[](fb::PlanT &, CondensedLists &l) {
         l.names.push_back({0, 1});
       },
       "tensors[5]: embedding.weight (param) is tensors[0] already"},
      {[](fb::PlanT &, CondensedLists &l) {
         l.programs[1].steps[0].mutate_flow(99);
       },
       "programs[1].steps[0].flow: 99 is not in [0, 8)"},
      {[](fb::PlanT &, CondensedLists &l) { l.programs[1].prev_lists = {99}; },
       "programs[1].prev_lists[0]: 99 is not in [0, 5)"},
      {[](fb::PlanT &, CondensedLists &l) { l.programs[1].curr_lists = {~0u}; },
       "programs[1].curr_lists[0]: 4294967295 is not in [0, 5)"},
      {[](fb::PlanT &p, CondensedLists &) { p.programs[1]->curr_shards = {0}; },
       "programs[1].curr_shards: a program with lists has none"},
      {[](fb::PlanT &p, CondensedLists &) {
         PlanBuilder::round(*p.programs[1], {});
       },
       "programs[1].rounds: a program with steps has none"},
      {[](fb::PlanT &p, CondensedLists &) {
         p.programs[1]->peers.push_back(std::make_unique<fb::PeersT>());
       },
       "programs[1].peers: a condensed plan has none but packed ones"},
      {[](fb::PlanT &p, CondensedLists &) {
         p.bounds = {0, 1};
       },
       "bounds: a condensed plan has none but packed ones"},
      {[](fb::PlanT &p, CondensedLists &l) {
         p.programs[1]->devices = {1, 2};
         l.programs[1].peers = {0, 3, 0};
       },
       "programs[1].peers: 3 devices for 2 replicas"},
      // A box that is cut is looked at before it is.
      {[](fb::PlanT &, CondensedLists &l) {
         l.cuts[0] = {0, 2};
         l.rounds = {0, 1};
         l.pieces[0].mutate_box(1);
       },
       "condensed.pieces[0].box: axis 0: 5:0 is not a range of [0, 6)"},
  };
  for (size_t i = 0; i != std::size(cases); ++i) {
    const std::vector<uint8_t> malformed = changed(bytes, cases[i].change);
    EXPECT_EQ(PlanFile::read(malformed).status().message(), cases[i].message)
        << i;
  }
}

/// Numbers of up to 64 bits, in either direction.
TEST(CondensedListsTest, ListsAreUnpackedAsTheyWerePacked) {
  const std::vector<uint8_t> bytes = condensePlan(packPlan(twoStagePlan()));
  CondensedLists lists = listsOf(bytes);
  lists.numbers = {0, ~0u, 0, 63, 64, 127, 128, 1u << 31};
  const auto least = std::numeric_limits<int64_t>::min(),
             most = std::numeric_limits<int64_t>::max();
  lists.bounds = {0, 5, 3, most, least, most, 0, -1, least};
  const CondensedLists unpacked = listsOf(
      changed(bytes, [&](fb::PlanT &, CondensedLists &l) { l = lists; }));
  EXPECT_EQ(unpacked.numbers, lists.numbers);
  EXPECT_EQ(unpacked.bounds, lists.bounds);
  EXPECT_EQ(packLists(unpacked), packLists(lists));
}

/// The example of docs/plan-format.md.
TEST(CondensedListsTest, DifferencesArePacked) {
  CondensedLists lists;
  lists.items = {fb::Item(4, 4, 0, 2), fb::Item(300, 300, 1, 1)};
  const std::vector<uint8_t> before(11), after(1); // other lists are empty
  std::vector<uint8_t> expected = before;
  expected.insert(expected.end(), {0x02, 0x08, 0x08, 0x00, 0x04, 0xd0, 0x04,
                                   0xd0, 0x04, 0x02, 0x01});
  expected.insert(expected.end(), after.begin(), after.end());
  EXPECT_EQ(packLists(lists), expected);
}

TEST(CondensedListsTest, PackedListsAreWhole) {
  const std::vector<uint8_t> bytes = condensePlan(packPlan(twoStagePlan()));
  const std::vector<uint8_t> packed = packLists(listsOf(bytes));
  auto messageOf = [&](std::vector<uint8_t> packed) {
    fb::PlanT plan;
    fb::GetPlan(bytes.data())->UnPackTo(&plan);
    plan.condensed->packed = std::move(packed);
    return PlanFile::read(packPlan(std::move(plan))).status().message();
  };
  EXPECT_EQ(messageOf(packed), "");
  for (size_t size = 0; size != packed.size(); ++size)
    EXPECT_TRUE(messageOf({packed.begin(), packed.begin() + size})
                    .ends_with("is cut off, or has numbers that are too large"))
        << size;
  std::vector<uint8_t> longer = packed;
  longer.push_back(0);
  EXPECT_EQ(messageOf(longer),
            "condensed.packed: 1 bytes more than the lists have");
  // A list of names, whose first number is -1, or more than 32 bits.
  for (const std::vector<uint8_t> &first :
       {std::vector<uint8_t>{1, 1, 0},
        {1, 0x80, 0x80, 0x80, 0x80, 0x20, 0},
        {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}})
    EXPECT_EQ(messageOf(first), "condensed.packed: the list names is cut off, "
                                "or has numbers that are too large");
}

/// A file can have one tensor in many places of a template.
TEST(CondensedListsTest, TemplatesThatNoNameIsOfAreCounted) {
  const std::vector<uint8_t> bytes = condensePlan(packPlan(twoStagePlan()));
  const auto large = changed(bytes, [](fb::PlanT &p, CondensedLists &) {
    const fb::TensorT tensor = *p.condensed->templates[0]->tensors[0];
    auto unused = std::make_unique<fb::TensorTemplateT>();
    for (unsigned i = 0; i != 100'000; ++i)
      unused->tensors.push_back(std::make_unique<fb::TensorT>(tensor));
    p.condensed->templates.push_back(std::move(unused));
  });
  const auto plan = expandPlan(*fb::GetPlan(large.data()), bytes.size());
  EXPECT_NE(plan.status().message().find("states more"), std::string::npos);
}

/// Small files that state more than any machine has.
TEST(CondensedListsTest, WhatAFileMayStateIsBounded) {
  const std::vector<uint8_t> bytes = condensePlan(packPlan(twoStagePlan()));
  const Change changes[] = {
      [](fb::PlanT &, CondensedLists &l) { // one flow of many items, many times
        const fb::Item item = l.items[0];
        l.items.assign(1000, item);
        l.flows.assign(1, fb::Run(0, 1000));
        for (ProgramLists &program : l.programs)
          for (fb::Step &step : program.steps)
            step.mutate_flow(0);
        l.programs[0].steps.assign(1000, l.programs[0].steps[0]);
      },
      [](fb::PlanT &, CondensedLists &l) { // one list, a thousand times
        l.held.assign(1000, 0);
        l.lists.assign(1, fb::Run(0, 1000));
        l.programs[0].prev_lists.assign(2000, 0);
      },
      [](fb::PlanT &,
         CondensedLists &l) { // one split of many pieces, by many items
        const fb::Piece piece = l.pieces[0];
        l.pieces.assign(1000, piece);
        l.splits.assign(1, fb::Run(0, 1000));
        const fb::Item item(0, 0, 0, 1);
        l.items.assign(1000, item);
        l.flows.assign(1, fb::Run(0, 1000));
      },
      [](fb::PlanT &p, CondensedLists &l) { // a billion names
        p.condensed->templates[0]->name = "w\n";
        l.numbers = {0};
        l.names[0].mutate_count(1'000'000'000);
      },
      [](fb::PlanT &, CondensedLists &l) { // cuts that overlap
        l.rounds.assign(4000, 0);
        l.cuts.assign(4000, fb::Run(0, 4000));
      },
      [](fb::PlanT &p, CondensedLists &l) { // a late round of many programs
        p.forecast.assign(40000, fb::RoundForecast());
        l.rounds.assign(l.rounds.size(), 39999);
        for (unsigned i = 0; i != 1000; ++i) {
          p.programs.push_back(std::make_unique<fb::ProgramT>(*p.programs[0]));
          l.programs.push_back(l.programs[0]);
        }
      },
  };
  for (size_t i = 0; i != std::size(changes); ++i) {
    const std::vector<uint8_t> large = changed(bytes, changes[i]);
    const Result<PlanFile> file = PlanFile::read(large);
    EXPECT_NE(file.status().message().find("states more than "),
              std::string::npos)
        << i << ": " << file.status().message();
  }
}

} // namespace
