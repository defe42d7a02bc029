// State in files of devices: what is written, read again, and refused.

#include "CheckpointFixture.h"
#include "PlanFixture.h"

#include "state/checkpoint/DraftFile.h"
#include "state/checkpoint/WriteState.h"
#include "state/source/ConvertState.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <sys/resource.h>

using namespace etc;
using namespace etc::runtime;
using namespace etc::runtime::test;
using namespace etc::plan::test;
namespace fs = std::filesystem;

namespace {

TEST(Slabs, FollowEachOtherInMemoryAndAreBounded) {
  const std::vector<Box> boxes{{{0, 7}},
                               {{3, 5}, {2, 9}},
                               {{1, 4}, {0, 3}, {5, 10}},
                               {{0, 1}, {0, 1}, {0, 6}}};
  for (const Box &whole : boxes)
    for (uint64_t most = 1; most != 50; ++most) {
      std::vector<int> dense(volume(whole));
      std::iota(dense.begin(), dense.end(), 0);
      int next = 0; // element
      Status status = forEachSlab(whole, most, [&](BoxView slab) {
        EXPECT_LE(volume(slab), most);
        std::vector<int> part(volume(slab));
        copyBox({reinterpret_cast<const std::byte *>(dense.data()), whole},
                {reinterpret_cast<std::byte *>(part.data()), slab}, slab, 4);
        for (int element : part)
          EXPECT_EQ(element, next++);
        return Status::success();
      });
      EXPECT_TRUE(status.ok());
      EXPECT_EQ(next, static_cast<int>(dense.size()));
    }
}

class StateFiles : public testing::Test {
protected:
  StateFiles()
      : bytes(etc::plan::packPlan(twoStagePlan())),
        index(*etc::plan::fb::GetPlan(bytes.data())) {}

  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-state-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root = pattern;
    in = root + "/in";
    out = root + "/out";
    fs::create_directory(in);
    writeCheckpoint(index, in);
  }
  void TearDown() override { fs::remove_all(root); }

  Result<Conversion> convert() {
    Result<Checkpoint> checkpoint = Checkpoint::open(in);
    if (!checkpoint)
      return checkpoint.status();
    StoredState state(std::move(*checkpoint));
    const std::vector<uint32_t> ranks{0, 1, 2, 3};
    if (Status s = state.checkSide(index, ranks, Side::Curr); !s.ok())
      return s;
    Result<StateFolder> folder = StateFolder::make(out);
    if (!folder)
      return folder.status();
    return convertState(index, state, *folder, Verify::Full);
  }

  /// A directory that is read as `in`, but for what follows.
  void useShards() {
    ASSERT_TRUE(convert().ok());
    fs::remove_all(in);
    fs::rename(out, in);
  }

  std::string contentOf(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void replace(const std::string &path, const std::string &part,
               const std::string &other) {
    std::string content = contentOf(path);
    const size_t at = content.find(part);
    ASSERT_NE(at, std::string::npos) << part;
    writeFile(path, content.replace(at, part.size(), other));
  }

  std::string root, in, out;
  std::vector<uint8_t> bytes;
  PlanIndex index;
};

TEST_F(StateFiles, HaveEveryElementAndSayWhereItStands) {
  Result<Conversion> done = convert();
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_EQ(done->files, 4u);
  for (uint32_t rank = 0; rank != 4; ++rank) {
    const std::string path =
        text(out, "/device-", index.device(rank), ".safetensors");
    const std::string content = contentOf(path);
    auto list = parseSafeTensors(content, content.size());
    ASSERT_TRUE(list.ok()) << list.status().message();
    uint64_t length = 0, data = 0;
    std::memcpy(&length, content.data(), sizeof length);
    EXPECT_EQ(length % 8, 0u);
    const auto header =
        nlohmann::json::parse(content.substr(sizeof length, length));
    const auto holdings =
        index.holdings(index.participant(rank).program, Side::Curr);
    EXPECT_EQ(list->size(), holdings.size());
    for (const auto &[tensor, shard] : holdings) {
      const auto &facts = index.tensor(tensor);
      const std::string key = facts.type()->str() + "/" + facts.name()->str();
      ASSERT_EQ(list->count(key), 1u) << key;
      const StoredTensor &stored = list->at(key);
      const BoxView box = index.shardBox(shard, 0);
      const auto place =
          nlohmann::json::parse(header["__metadata__"][key].get<std::string>());
      EXPECT_EQ(place["shape"].size(), box.rank());
      EXPECT_EQ(place["box"][0][0], box[0].begin);
      EXPECT_EQ(place["box"][0][1], box[0].end);
      EXPECT_EQ(stored.begin % index.elementBytes(tensor), 0u);
      data += stored.end - stored.begin;
      Status right = checkRegion(
          index, tensor, Side::Curr,
          {reinterpret_cast<const std::byte *>(content.data() + stored.begin),
           box});
      EXPECT_TRUE(right.ok()) << right.message();
    }
    // Nothing lies between the tensors, as readers of the format demand.
    EXPECT_EQ(sizeof length + length + data, content.size());
  }
}

TEST_F(StateFiles, ATiedCopyThatIsNotStoredEqualsItsTwin) {
  const std::string path = in + "/param.safetensors";
  replace(path, "\"head.weight\"", "\"tied.weight\"");
  Result<Conversion> done = convert(); // the formula's values: as above
  ASSERT_TRUE(done.ok()) << done.status().message();
  const std::string content = contentOf(out + "/device-2.safetensors");
  auto list = parseSafeTensors(content, content.size());
  auto elements = [&](const char *key) {
    const StoredTensor &stored = list->at(key);
    return content.substr(stored.begin, stored.end - stored.begin);
  };
  EXPECT_EQ(elements("param/head.weight"), elements("param/embedding.weight"));
}

TEST_F(StateFiles, WhatIsMissingIsNamed) {
  fs::remove(in + "/master.safetensors");
  replace(in + "/param.safetensors", "\"norm.weight\"", "\"ln_f.weight\"");
  EXPECT_EQ(convert().status().message(),
            in + ": has no layer.weight (master), norm.weight (param); plan "
                 "with the types that are there (etc-opt --types=param) and a "
                 "model whose tensors have the checkpoint's names");
  EXPECT_FALSE(fs::exists(out));
}

TEST_F(StateFiles, AnIndexThatComesLastIsNeeded) {
  useShards();
  fs::remove(in + "/inventory.json");
  EXPECT_EQ(convert().status().message(),
            in + ": has device-0.safetensors but no inventory.json, which is "
                 "written last: it is not complete; write it again, or name "
                 "another directory");
}

TEST_F(StateFiles, AFileHasToBeWhatTheIndexSays) {
  useShards();
  // The vocabulary has grown: it is not this plan's previous state.
  EXPECT_EQ(convert().status().message(),
            in + "/inventory.json: embedding.weight (param) is BF16 [6, 4]; "
                 "expected BF16 [5, 4]; plan with the model and the precision "
                 "of the checkpoint");
  Result<Checkpoint> checkpoint = Checkpoint::open(in);
  Box whole{{0, 4}, {0, 4}};
  auto check = [&](uint32_t device) {
    return Checkpoint::open(in)->check(index, 2, whole, device);
  };
  EXPECT_TRUE(check(0).ok()) << check(0).message();
  // Replicas hold the same: one of the two files is enough.
  fs::remove(in + "/device-0.safetensors");
  EXPECT_TRUE(check(0).ok()) << check(0).message();
  fs::remove(in + "/device-1.safetensors");
  EXPECT_EQ(check(0).message(), in + "/device-0.safetensors: cannot open: No "
                                     "such file or directory");
  for (const char *device : {"2", "3"})
    replace(text(in, "/device-", device, ".safetensors"), "\"dtype\":\"F32\"",
            "\"dtype\":\"I64\"");
  EXPECT_EQ(check(2).kind(), ErrorKind::Malformed);
  EXPECT_NE(check(2).message().find("data_offsets ["), std::string::npos)
      << check(2).message();
}

TEST_F(StateFiles, ABoxThatNobodyHasIsNamed) {
  useShards();
  std::string json = contentOf(in + "/inventory.json");
  auto inventory = nlohmann::json::parse(json);
  inventory["devices"].erase(0);
  inventory["devices"].erase(0);
  writeFile(in + "/inventory.json", inventory.dump());
  Box whole{{0, 4}, {0, 4}};
  EXPECT_EQ(Checkpoint::open(in)->check(index, 2, whole, {}).message(),
            in + ": no file has layer.weight (master)[0:2, 0:4]; name a "
                 "directory that has all of the previous state");
  writeFile(in + "/inventory.json", json.substr(0, json.size() / 2));
  EXPECT_EQ(Checkpoint::open(in).status().message(),
            in + "/inventory.json: not an etc-inventory of version 1");
}

TEST_F(StateFiles, AreNotMixedWithOthers) {
  fs::create_directory(out);
  writeFile(out + "/notes.txt", "mine");
  EXPECT_EQ(convert().status().message(),
            out + ": is not empty; remove what is there, or name another "
                  "directory");
  EXPECT_EQ(contentOf(out + "/notes.txt"), "mine");
  fs::remove_all(out);
  writeFile(out, "a file");
  EXPECT_EQ(convert().status().message(),
            out + ": cannot make it: Not a directory");
}

TEST_F(StateFiles, NothingIsLeftWhereThereIsNoRoom) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 512;
  auto *handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Status status = convert().status();
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.message(), out + "/device-0.safetensors: cannot write: File "
                                    "too large; make room, or name another "
                                    "directory");
  EXPECT_EQ(status.kind(), ErrorKind::Usage);
  EXPECT_TRUE(fs::is_empty(out));
}

TEST_F(StateFiles, AFileOfAnIndexIsFetchedWithIt) {
  fs::rename(in + "/param.safetensors",
             in + "/model-00001-of-00001.safetensors");
  const std::string list = in + "/model.safetensors.index.json";
  writeFile(list, R"({"weight_map": {"layer.weight": )"
                  R"("model-00001-of-00001.safetensors"}})");
  EXPECT_TRUE(convert().ok());
  fs::remove_all(out);
  replace(list, "layer.weight", "other.weight");
  EXPECT_EQ(convert().status().message(),
            list + ": says that other.weight is in "
                   "model-00001-of-00001.safetensors, which does not have it");
  replace(list, "00001-of", "00002-of");
  EXPECT_EQ(convert().status().message(),
            list + ": names model-00002-of-00001.safetensors, which is not "
                   "there; copy it too");
  writeFile(list, "[]");
  EXPECT_EQ(convert().status().message(),
            list + ": expected an object with a weight_map");
  fs::remove(list);
  fs::copy(in + "/model-00001-of-00001.safetensors", in + "/param.safetensors");
  EXPECT_EQ(convert().status().message(),
            in + "/param.safetensors: has embedding.weight (param), which " +
                in +
                "/model-00001-of-00001.safetensors has too; keep one of "
                "them");
}

} // namespace
