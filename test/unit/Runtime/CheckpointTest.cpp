// Checkpoints: what is refused, and that single boxes are read from them.

#include "CheckpointFixture.h"
#include "PlanFixture.h"

#include "state/checkpoint/Checkpoint.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <utility>

using namespace etc;
using namespace etc::runtime;
using namespace etc::runtime::test;
using namespace etc::plan::test;

namespace {

std::string refusal(const std::string &list, uint64_t dataBytes = 24) {
  const std::string bytes = safeTensors(list, {});
  return parseSafeTensors(bytes, bytes.size() + dataBytes).status().message();
}

std::string tensor(const std::string &fields) {
  return "{\"a\": {" + fields + "}}";
}

TEST(SafeTensors, AreReadWithTheirPlaces) {
  const std::string bytes = safeTensors(
      R"({"__metadata__": {"x": "y"}, "a": {"dtype": "F32", "shape": [2, 3], )"
      R"("data_offsets": [4, 28]}})",
      {});
  auto tensors = parseSafeTensors(bytes, bytes.size() + 28);
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  ASSERT_EQ(tensors->size(), 1u);
  const StoredTensor &a = tensors->at("a");
  EXPECT_EQ(a.dtype, "F32");
  EXPECT_EQ(a.shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(a.begin, bytes.size() + 4);
  EXPECT_EQ(a.end, bytes.size() + 28);
}

TEST(SafeTensors, WhatIsWrongIsNamed) {
  EXPECT_EQ(parseSafeTensors("1234567", 100).status().message(),
            "not a safetensors file: too short");
  EXPECT_EQ(parseSafeTensors(std::string(8, '\xff'), 8).status().message(),
            "not a safetensors file: a list of 18446744073709551615 bytes is "
            "not in it");
  EXPECT_EQ(refusal("[]"),
            "not a safetensors file: its list is no JSON object");
  EXPECT_EQ(refusal("{"), "not a safetensors file: its list is no JSON object");
  const std::string fields = "a: expected dtype, shape and two data_offsets";
  EXPECT_EQ(refusal(R"({"a": 1})"), fields);
  EXPECT_EQ(refusal(tensor(R"("dtype": "F32", "shape": [6])")), fields);
  EXPECT_EQ(refusal(tensor(
                R"("dtype": "F32", "shape": [-6], "data_offsets": [0, 24])")),
            fields);
  EXPECT_EQ(refusal(tensor(
                R"("dtype": "F32", "shape": [6], "data_offsets": [0, 24, 3])")),
            fields);
  EXPECT_EQ(refusal(tensor(
                R"("dtype": "Q4", "shape": [6], "data_offsets": [0, 24])")),
            "a: expected a dtype of BF16, F16, F32, F64, I64 or U8 and at "
            "most 8 axes");
  EXPECT_EQ(refusal(tensor(
                R"("dtype": "F32", "shape": [5], "data_offsets": [0, 24])")),
            "a: data_offsets [0, 24] are not 20 of the file's 24 bytes");
  EXPECT_EQ(refusal(tensor(
                R"("dtype": "F32", "shape": [6], "data_offsets": [4, 28])")),
            "a: data_offsets [4, 28] are not 24 of the file's 24 bytes");
  EXPECT_EQ(parseSafeTensors(std::string("\0\0\0\x10\0\0\0\0", 8) +
                                 std::string(8, ' '),
                             uint64_t{1} << 30)
                .status()
                .message(),
            "its list of 268435456 bytes is longer than 67108856; share its "
            "tensors out among more files");
  // The product of the extents does not wrap.
  EXPECT_EQ(
      refusal(tensor(R"("dtype": "F32", "shape": [4294967296, 4294967296],)"
                     R"( "data_offsets": [0, 0])")),
      "a: data_offsets [0, 0] are not 18446744073709551615 of the "
      "file's 24 bytes");
}

class CheckpointTest : public testing::Test {
protected:
  explicit CheckpointTest(etc::plan::fb::PlanT plan = twoStagePlan())
      : bytes(etc::plan::packPlan(std::move(plan))),
        index(*etc::plan::fb::GetPlan(bytes.data())) {}

  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-checkpoint-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    writeCheckpoint(index, directory);
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::string directory;
  std::vector<uint8_t> bytes;
  PlanIndex index;
};

TEST_F(CheckpointTest, ReadsTheBytesOfABoxAndNoOthers) {
  auto checkpoint = Checkpoint::open(directory);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  // Columns 1 and 2 of rows 1 to 3 of the master weights, 4 bytes each.
  Box whole{{0, 4}, {0, 4}}, part{{1, 4}, {1, 3}};
  std::vector<float> expected(16), found(16, -7);
  fillRegion(index, 2, etc::plan::Side::Prev,
             {reinterpret_cast<std::byte *>(expected.data()), whole});
  auto read = checkpoint->read(
      index, 2, {reinterpret_cast<std::byte *>(found.data()), whole}, part);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, 24u);
  for (int row = 0; row != 4; ++row)
    for (int column = 0; column != 4; ++column) {
      const bool isInside = row >= 1 && column >= 1 && column < 3;
      EXPECT_EQ(found[row * 4 + column],
                isInside ? expected[row * 4 + column] : -7.f);
    }
}

/// Before, a file that was cut ended the process by SIGBUS.
TEST_F(CheckpointTest, AFileThatChangesLaterIsNamed) {
  const std::string path = directory + "/master.safetensors";
  const auto restored = std::filesystem::path(path + ".as-it-was");
  std::filesystem::copy(path, restored);
  const std::function<void()> damages[] = {
      [&] { std::filesystem::resize_file(path, 100); },
      [&] { std::filesystem::resize_file(path, 0); },
      [&] { std::filesystem::rename(restored, path); },
      [&] { std::filesystem::remove(path); },
  };
  const Box whole{{0, 4}, {0, 4}};
  std::vector<float> found(16);
  const Region to{reinterpret_cast<std::byte *>(found.data()), whole};
  for (const auto &damage : damages) {
    std::filesystem::copy(restored, path,
                          std::filesystem::copy_options::overwrite_existing);
    auto checkpoint = Checkpoint::open(directory);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    EXPECT_TRUE(checkpoint->check(index, 2, whole).ok());
    EXPECT_TRUE(checkpoint->read(index, 2, to, whole).ok());
    damage();
    auto read = checkpoint->read(index, 2, to, whole);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.status().message(),
              std::filesystem::exists(path)
                  ? path + ": was replaced or written to since its list of "
                           "tensors was read"
                  : path + ": cannot open: No such file or directory");
    if (!std::filesystem::exists(restored))
      std::filesystem::copy(path, restored);
  }
}

TEST_F(CheckpointTest, WhatIsMissingIsNamed) {
  std::filesystem::remove(directory + "/master.safetensors");
  EXPECT_EQ(Checkpoint::open(directory)->check(index, 2).message(),
            directory + ": has no layer.weight (master)");
  writeFile(directory + "/master-00001-of-00001.safetensors",
            safeTensors(R"({"layer.weight": {"dtype": "F32", "shape": [2, 4], )"
                        R"("data_offsets": [0, 32]}})",
                        std::string(32, 'x')));
  EXPECT_EQ(Checkpoint::open(directory)->check(index, 2).message(),
            directory + "/master-00001-of-00001.safetensors: layer.weight "
                        "(master) is F32 [2, 4]; expected F32 [4, 4]; plan "
                        "with the model and the precision of the checkpoint");
  writeFile(directory + "/param.safetensors", "short");
  EXPECT_EQ(Checkpoint::open(directory).status().message(),
            directory +
                "/param.safetensors: not a safetensors file: too short");
  EXPECT_EQ(Checkpoint::open("/nonexistent").status().message(),
            "/nonexistent: cannot read: No such file or directory");
  EXPECT_EQ(Checkpoint::open("/proc/self/task").status().message(),
            "/proc/self/task: no checkpoint is here; expected files such as "
            "param.safetensors, or those that etc-run --out=/proc/self/task "
            "writes");
}

/// Of requests that PyTorch's modules make.
etc::plan::fb::PlanT planOfDottedTypes() {
  etc::plan::fb::PlanT plan = twoStagePlan();
  for (const auto &tensor : plan.tensors)
    tensor->type += tensor->type == "param" ? ".bf16" : ".fp32";
  return plan;
}

class DottedTypesTest : public CheckpointTest {
protected:
  DottedTypesTest() : CheckpointTest(planOfDottedTypes()) {}

  std::string checkAll() const {
    auto checkpoint = Checkpoint::open(directory);
    Status status = checkpoint.status();
    for (uint32_t t = 0; status.ok() && t != index.plan().tensors()->size();
         ++t)
      status = checkpoint->check(index, t);
    return status.message();
  }
  void rename(const std::string &from, const std::string &to) const {
    std::filesystem::rename(directory + "/" + from, directory + "/" + to);
  }
};

TEST_F(DottedTypesTest, AreTheNamesOfFiles) {
  EXPECT_EQ(checkAll(), "");
  // In parts.
  rename("param.bf16.safetensors", "param.bf16-00001-of-00001.safetensors");
  EXPECT_EQ(checkAll(), "");
  // Where an index says which files count, others of the type do not.
  writeFile(directory + "/param.bf16-00002-of-00002.safetensors", "short");
  writeFile(directory + "/param.bf16.safetensors.index.json",
            R"({"weight_map": {"layer.weight": )"
            R"("param.bf16-00001-of-00001.safetensors"}})");
  EXPECT_EQ(checkAll(), "");
}

} // namespace
