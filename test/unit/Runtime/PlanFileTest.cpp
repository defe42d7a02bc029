// Opening plans: what is none, what is damaged, and what points out of its
// tables.

#include "PlanFixture.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace etc::plan;
using namespace etc::plan::test;

namespace {

class PlanFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-plan-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  /// The message of opening a file with these bytes, without the path in front.
  std::string open(std::span<const uint8_t> bytes) {
    std::string path = directory / "m.etcplan";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    Result<PlanFile> file = PlanFile::open(path);
    if (file)
      return "";
    const std::string &message = file.status().message();
    EXPECT_EQ(message.substr(0, path.size() + 2), path + ": ");
    return message.substr(path.size() + 2);
  }

  std::string openText(const std::string &content) {
    return open(
        {reinterpret_cast<const uint8_t *>(content.data()), content.size()});
  }

  std::filesystem::path directory;
};

TEST_F(PlanFileTest, OpensWhatItWrote) {
  EXPECT_EQ(open(packPlan(twoStagePlan())), "");
}

TEST_F(PlanFileTest, EqualPlansAreEqualBytes) {
  EXPECT_EQ(packPlan(twoStagePlan()), packPlan(twoStagePlan()));
}

TEST_F(PlanFileTest, MissingFile) {
  std::string path = directory / "none.etcplan";
  EXPECT_EQ(PlanFile::open(path).status().message(),
            path + ": cannot open: No such file or directory");
}

TEST_F(PlanFileTest, Fifo) {
  std::string path = directory / "fifo";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  ::alarm(30); // instead of waiting for a writer
  EXPECT_EQ(PlanFile::open(path).status().message(),
            path + ": expected a regular file, got a FIFO");
  ::alarm(0);
}

TEST_F(PlanFileTest, ForeignFiles) {
  EXPECT_EQ(openText("{\"model\": \"gpt2\"}"),
            "not an ETC plan (expected file identifier 'ETCP', got 'del\"')");
  EXPECT_EQ(openText(std::string("\x7f"
                                 "ELF\x02\x01\x01\0\0\0",
                                 10)),
            "not an ETC plan (expected file identifier 'ETCP', got "
            "'\\x02\\x01\\x01\\x00')");
  EXPECT_EQ(openText("abc"), "not an ETC plan (expected file identifier "
                             "'ETCP', the file has 3 bytes)");
  EXPECT_EQ(openText(""), "not an ETC plan (expected file identifier 'ETCP', "
                          "the file has 0 bytes)");
}

TEST_F(PlanFileTest, EveryTruncationIsNoticed) {
  std::vector<uint8_t> bytes = packPlan(twoStagePlan());
  for (size_t size = 8; size != bytes.size(); ++size) {
    Status status = checkPlanBytes(std::span(bytes).first(size));
    EXPECT_EQ(status.message().substr(0, 22), "truncated or damaged: ") << size;
  }
  EXPECT_EQ(
      open(std::span(bytes).first(100)),
      "truncated or damaged: an offset leaves the file's 100 bytes, or its "
      "format is an earlier one than 2; "
      "write it again with etc-opt --emit=plan");
}

TEST_F(PlanFileTest, EveryDamagedByteIsNoticed) {
  const std::vector<uint8_t> bytes = packPlan(twoStagePlan());
  for (size_t at = 0; at != bytes.size(); ++at) {
    std::vector<uint8_t> damaged = bytes;
    damaged[at] ^= 0x10;
    EXPECT_FALSE(checkPlanBytes(damaged).ok()) << at;
  }
}

/// Damage with a right hash, as a faulty writer makes it: whatever is wrong, it
/// is found without a crash. Sanitizers make this test worth more.
TEST_F(PlanFileTest, SealedDamageIsHarmless) {
  for (const std::vector<uint8_t> &bytes :
       {packPlan(twoStagePlan()), packPlan(relayPlan())})
    for (size_t at = 8; at != bytes.size(); ++at)
      for (uint8_t value : {0x00, 0x01, 0x7f, 0xff}) {
        std::vector<uint8_t> damaged = bytes;
        damaged[at] = value;
        flatbuffers::Verifier verifier(damaged.data(), damaged.size());
        if (!fb::VerifyPlanBuffer(verifier) || !sealPlan(damaged).ok() ||
            !checkPlanBytes(damaged).ok())
          continue;
        (void)checkPlan(*fb::GetPlan(damaged.data()));
      }
}

/// certifiedPlan() with something in each list of 8-byte numbers. The first
/// number of each is also a length, once the list begins there.
static fb::PlanT planOfLists() {
  fb::PlanT plan = certifiedPlan();
  plan.tensors[0]->view = {1, 24};
  plan.tensors[0]->prev_shape = {1, 20};
  plan.bounds.insert(plan.bounds.begin(), {1, 2});
  plan.certificates[0]->row_duals = plan.certificates[0]->column_duals = {1, 2};
  plan.forecast[0] = fb::RoundForecast(1, 0);
  plan.role_bound = std::make_unique<fb::RoleBoundT>();
  plan.role_bound->row_duals = plan.role_bound->column_duals = {1, 2};
  plan.slice = std::make_unique<fb::SliceT>();
  plan.slice->path = {1, 2};
  plan.condensed = std::make_unique<fb::CondensedT>();
  auto entry = std::make_unique<fb::TensorTemplateT>();
  entry->tensors.push_back(std::make_unique<fb::TensorT>(*plan.tensors[0]));
  plan.condensed->templates.push_back(std::move(entry));
  return plan;
}

struct MisalignedList {
  const char *name;
  const void *(*tableOf)(const fb::Plan &plan);
  flatbuffers::voffset_t field;
};

class MisalignedListTest : public testing::TestWithParam<MisalignedList> {};

/// Found by PlanFuzzer: the verifier lets it pass, reading it is undefined.
TEST_P(MisalignedListTest, IsNoticed) {
  std::vector<uint8_t> bytes = packPlan(planOfLists());
  const std::string message =
      "truncated or damaged: a list of 8-byte numbers is not aligned; write it "
      "again with etc-opt --emit=plan";
  EXPECT_NE(checkPlanBytes(bytes).message(), message);
  const void *table = GetParam().tableOf(*fb::GetPlan(bytes.data()));
  uint8_t *list = static_cast<flatbuffers::Table *>(const_cast<void *>(table))
                      ->GetAddressOf(GetParam().field);
  auto offset = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(list);
  flatbuffers::WriteScalar<flatbuffers::uoffset_t>(list, offset + 4);
  EXPECT_EQ(checkPlanBytes(bytes).message(), message);
}

using TableOf = const void *(*)(const fb::Plan &plan);
constexpr TableOf ofPlan = [](const fb::Plan &p) -> const void * { return &p; };
constexpr TableOf ofTensor = [](const fb::Plan &p) -> const void * {
  return p.tensors()->Get(0);
};
constexpr TableOf ofTemplate = [](const fb::Plan &p) -> const void * {
  return p.condensed()->templates()->Get(0)->tensors()->Get(0);
};
constexpr TableOf ofCertificate = [](const fb::Plan &p) -> const void * {
  return p.certificates()->Get(0);
};
constexpr TableOf ofRoleBound = [](const fb::Plan &p) -> const void * {
  return p.role_bound();
};
constexpr TableOf ofSlice = [](const fb::Plan &p) -> const void * {
  return p.slice();
};

constexpr MisalignedList misalignedLists[] = {
    {"bounds", ofPlan, fb::Plan::VT_BOUNDS},
    {"forecast", ofPlan, fb::Plan::VT_FORECAST},
    {"shape", ofTensor, fb::Tensor::VT_SHAPE},
    {"view", ofTensor, fb::Tensor::VT_VIEW},
    {"prev_shape", ofTensor, fb::Tensor::VT_PREV_SHAPE},
    {"condensed_shape", ofTemplate, fb::Tensor::VT_SHAPE},
    {"certificate_row_duals", ofCertificate, fb::Certificate::VT_ROW_DUALS},
    {"certificate_column_duals", ofCertificate,
     fb::Certificate::VT_COLUMN_DUALS},
    {"role_bound_row_duals", ofRoleBound, fb::RoleBound::VT_ROW_DUALS},
    {"role_bound_column_duals", ofRoleBound, fb::RoleBound::VT_COLUMN_DUALS},
    {"slice_path", ofSlice, fb::Slice::VT_PATH},
};

INSTANTIATE_TEST_SUITE_P(PlanFile, MisalignedListTest,
                         testing::ValuesIn(misalignedLists),
                         [](const auto &test) { return test.param.name; });

TEST_F(PlanFileTest, VersionAndFeatures) {
  fb::PlanT plan = twoStagePlan();
  plan.version = 3;
  const std::string other = "format version 3, this build reads 2; write it "
                            "again with etc-opt --emit=plan";
  EXPECT_EQ(judge(plan), other);
  // Its tables may be others, too.
  std::vector<uint8_t> bytes = packPlan(plan);
  bytes.resize(bytes.size() - 64);
  EXPECT_EQ(checkPlanBytes(bytes).message(), other);
  plan = twoStagePlan();
  plan.features = 512 + 4; // of a later build, and of an earlier one
  EXPECT_EQ(judge(plan),
            "needs features that this build does not know (flags "
            "0x0000000000000204); write it again with etc-opt --emit=plan");
  // Their tables may be others, too.
  bytes = packPlan(plan);
  bytes.resize(bytes.size() - 64);
  EXPECT_TRUE(checkPlanBytes(bytes).message().starts_with("needs features"));
}

TEST_F(PlanFileTest, SealingNeedsTheField) {
  fb::PlanT plan = twoStagePlan();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &plan), fb::PlanIdentifier());
  Status status = sealPlan({builder.GetBufferPointer(), builder.GetSize()});
  EXPECT_EQ(status.message(),
            "hash: set it to another value than 0 before sealing");
}

struct BadIndex {
  const char *message;
  void (*damage)(fb::PlanT &plan);
};

class BadIndexTest : public testing::TestWithParam<BadIndex> {};

TEST_P(BadIndexTest, IsNamed) {
  fb::PlanT plan = twoStagePlan();
  GetParam().damage(plan);
  EXPECT_EQ(judge(plan), GetParam().message);
}

const BadIndex kBadIndices[] = {
    {"participants[3]: 9 is not in [0, 4)",
     [](fb::PlanT &p) { p.participants[3] = 9; }},
    {"participants[2]: 1 after 1, devices ascend",
     [](fb::PlanT &p) { p.participants[2] = 1; }},
    {"nodes[1]: a node has at least one device",
     [](fb::PlanT &p) { p.nodes[1] = 0; }},
    {"prev_placement: 3 entries, prev has 4 ranks",
     [](fb::PlanT &p) { p.prev_placement.pop_back(); }},
    {"curr_placement[1]: 4 is not in [0, 4)",
     [](fb::PlanT &p) { p.curr_placement[1] = 4; }},
    {"tensors[1].shape: 0 axes, from 1 to 8 are allowed",
     [](fb::PlanT &p) { p.tensors[1]->shape.clear(); }},
    {"tensors[1].shape[0]: 0 is not at least 1",
     [](fb::PlanT &p) { p.tensors[1]->shape[0] = 0; }},
    {"tensors[1].shape: larger than 16 TiB",
     [](fb::PlanT &p) { p.tensors[1]->shape[0] = int64_t{1} << 62; }},
    {"tensors[1].view: 15 elements, the shape has 16",
     [](fb::PlanT &p) { p.tensors[1]->view = {15}; }},
    {"tensors[0].prev_shape: 1 axes, the shape has 2",
     [](fb::PlanT &p) { p.tensors[0]->prev_shape = {5}; }},
    {"tensors[1].dtype: 77 is not a known type",
     [](fb::PlanT &p) { p.tensors[1]->dtype = fb::DType(77); }},
    {"tensors[4].tied_to: 5 is not in [-1, 5)",
     [](fb::PlanT &p) { p.tensors[4]->tied_to = 5; }},
    {"tensors[4].tied_to: tensors[1] has another shape",
     [](fb::PlanT &p) { p.tensors[4]->tied_to = 1; }},
    {"tensors[2].derived_from: no cast from bf16 to fp32, only from fp32 to "
     "bf16 or fp16",
     [](fb::PlanT &p) {
       p.tensors[1]->derived_from = -1;
       p.tensors[2]->derived_from = 1;
     }},
    {"tensors[2]: layer.weight (param) is tensors[1] already",
     [](fb::PlanT &p) { p.tensors[2]->type = "param"; }},
    {"shards[0].tensor: 5 is not in [0, 5)",
     [](fb::PlanT &p) { p.shards[0].mutate_tensor(5); }},
    {"shards[0]: boxes [0, 100) are not in [0, 11)",
     [](fb::PlanT &p) { p.shards[0].mutate_box_count(100); }},
    {"shards[0].box_count: a shard has at least one box",
     [](fb::PlanT &p) { p.shards[0].mutate_box_count(0); }},
    {"shards[1]: boxes[1]: bounds [4294967295, 4294967299) are not in [0, 64)",
     [](fb::PlanT &p) { p.boxes[1] = ~0u; }},
    {"shards[0]: boxes[0]: axis 0: 2:2 is not a range of [0, 4)",
     [](fb::PlanT &p) { p.bounds[p.boxes[0]] = p.bounds[p.boxes[0] + 1] = 2; }},
    {"shards[0]: its boxes [0:4] and [0:4] overlap",
     [](fb::PlanT &p) {
       p.boxes[1] = p.boxes[0];
       p.shards[0].mutate_box_count(2);
     }},
    {"programs[0].prev_shards[0]: box [0:6, 0:4] leaves the previous shape on "
     "axis 0, of 5",
     [](fb::PlanT &p) { p.bounds[p.boxes[1] + 1] = 6; }},
    {"programs[0].curr_shards: two shards of tensors[0]",
     [](fb::PlanT &p) { p.programs[0]->curr_shards.push_back(2); }},
    {"programs[1].curr_shards[4]: 11 is not in [0, 11)",
     [](fb::PlanT &p) { p.programs[1]->curr_shards[4] = 11; }},
    {"programs[1].devices[0]: 1 is in programs[0] already",
     [](fb::PlanT &p) { p.programs[1]->devices[0] = 1; }},
    {"programs[0].devices[1]: 0 after 0, devices ascend",
     [](fb::PlanT &p) { p.programs[0]->devices[1] = 0; }},
    {"participants[3]: device 3 has no program",
     [](fb::PlanT &p) {
       p.programs[1]->devices.pop_back();
       p.programs[1]->peers[0]->devices.pop_back();
     }},
    {"programs[0].peers[0].devices: 1 entries, the program has 2 devices",
     [](fb::PlanT &p) { p.programs[0]->peers[0]->devices.pop_back(); }},
    {"programs[0].peers[0].devices[1]: 7 is not a participant",
     [](fb::PlanT &p) { p.programs[0]->peers[0]->devices[1] = 7; }},
    {"programs[0].peers[0].devices[0]: device 0 is its own peer",
     [](fb::PlanT &p) { p.programs[0]->peers[0]->devices[0] = 0; }},
    {"programs[0].rounds[0].ops[2].peer: 9 is not in [0, 1)",
     [](fb::PlanT &p) { p.programs[0]->rounds[0]->ops[2].mutate_peer(9); }},
    {"programs[0].rounds[0].ops[3].peer: 1 is not in [0, 1)",
     [](fb::PlanT &p) { p.programs[0]->rounds[0]->ops[3].mutate_peer(1); }},
    {"programs[0].rounds[0].ops[2].source: 5 is not in [0, 5)",
     [](fb::PlanT &p) { p.programs[0]->rounds[0]->ops[2].mutate_source(5); }},
    {"programs[0].rounds[0].ops[2].box: bounds [100, 104) are not in [0, 64)",
     [](fb::PlanT &p) { p.programs[0]->rounds[0]->ops[2].mutate_box(100); }},
    {"programs[0].rounds[0].ops[5].box: 3, a release has 0",
     [](fb::PlanT &p) { p.programs[0]->rounds[0]->ops[5].mutate_box(3); }},
    {"programs[0].rounds[0].ops[2].from_curr: only a send has it",
     [](fb::PlanT &p) {
       p.programs[0]->rounds[0]->ops[2].mutate_from_curr(true);
     }},
    {"programs[0].rounds[0].ops[2].kind: 6 is not a known op",
     [](fb::PlanT &p) {
       p.programs[0]->rounds[0]->ops[2].mutate_kind(fb::OpKind(6));
     }},
    {"forecast: 1 entries, the longest program has 2 rounds",
     [](fb::PlanT &p) { p.forecast.pop_back(); }},
};

INSTANTIATE_TEST_SUITE_P(PlanFile, BadIndexTest,
                         testing::ValuesIn(kBadIndices));

} // namespace
