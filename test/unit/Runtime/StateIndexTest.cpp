// The indexes of directories of state: what is read, and what is refused.

#include "state/checkpoint/StateIndex.h"

#include <gtest/gtest.h>

using namespace etc::runtime;

namespace {

/// A good index, of which one part is replaced.
std::string indexWith(const std::string &part, const std::string &other) {
  std::string json =
      R"({"format": "etc-inventory", "version": 1, "tensors": [)"
      R"({"name": "a", "type": "param", "dtype": "bf16", "shape": [4, 6]}, )"
      R"({"name": "b", "type": "param", "dtype": "i64", "shape": [1]}], )"
      R"("shards": [{"tensor": 0, "boxes": [[[0, 2], [3, 6]], [[2, 4], [0, 1]]]}, )"
      R"({"tensor": 1, "boxes": [[[0, 1]]]}], )"
      R"("devices": [{"device": 3, "has": [0, 1]}, {"device": 5, "has": []}]})";
  const size_t at = json.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return json.replace(at, part.size(), other);
}

TEST(StateIndex, SaysWhoHoldsWhat) {
  auto index = parseStateIndex(indexWith("", ""));
  ASSERT_TRUE(index.ok()) << index.status().message();
  ASSERT_EQ(index->tensors.size(), 2u);
  EXPECT_EQ(index->tensors[0].name, "a");
  EXPECT_EQ(index->tensors[0].type, "param");
  EXPECT_EQ(index->tensors[1].dtype, etc::plan::fb::DType::i64);
  EXPECT_EQ(index->tensors[0].shape, (std::vector<int64_t>{4, 6}));
  ASSERT_EQ(index->shards[0].boxes.size(), 2u);
  EXPECT_EQ(index->shards[0].boxes[1], (etc::Box{{2, 4}, {0, 1}}));
  ASSERT_EQ(index->devices.size(), 2u);
  EXPECT_EQ(index->devices[0].device, 3u);
  EXPECT_EQ(index->devices[0].shards, (std::vector<uint32_t>{0, 1}));
  EXPECT_TRUE(index->devices[1].shards.empty());
}

TEST(StateIndex, WhatIsWrongIsNamed) {
  struct Case {
    const char *part, *other, *message;
  };
  for (const Case &wrong : {
           Case{"{", "", "not an etc-inventory of version 1"},
           Case{"etc-inventory", "etc-plan",
                "not an etc-inventory of version 1"},
           Case{"\"version\": 1", "\"version\": 2",
                "not an etc-inventory of version 1"},
           Case{"\"tensors\"", "\"tensor\"", "tensors: expected a list"},
           Case{"\"name\": \"b\"", "\"name\": 1",
                "tensors[1]: name: expected a string"},
           Case{"\"name\": \"b\"", "\"name\": \"a\"",
                "tensors[1]: a (param) is there twice"},
           Case{"bf16", "q4",
                "tensors[0]: dtype: q4 is not one of bf16, fp16, fp32, fp64, "
                "i64 and u8"},
           Case{"[4, 6]", "[]", "tensors[0]: shape: expected 1 to 8 axes"},
           Case{"[4, 6]", "[4, -6]",
                "tensors[0]: shape[1]: -6 is not in [0, 9223372036854775807)"},
           Case{"[4, 6]", "[4, 6, 1, 1, 1, 1, 1, 1, 1]",
                "tensors[0]: shape: expected 1 to 8 axes"},
           Case{"\"tensor\": 1", "\"tensor\": 2",
                "shards[1]: tensor: 2 is not in [0, 2)"},
           Case{"\"tensor\": 1", "\"tensor\": \"b\"",
                "shards[1]: tensor: it is not in [0, 2)"},
           Case{"\"tensor\": 1", "\"tensors\": [1]",
                "shards[1]: tensors: the index of state files has shards of "
                "one tensor; give each as \"tensor\""},
           Case{"[[[0, 1]]]", "[[0, 1]]",
                "shards[1]: boxes[0]: expected 1 ranges, one an axis"},
           Case{"[[[0, 1]]]", "[[[0]]]",
                "shards[1]: boxes[0]: expected a begin and an end for axis 0"},
           Case{"[3, 6]", "[3, 7]", "shards[0]: boxes[0]: 7 is not in [0, 7)"},
           Case{"[3, 6]", "[3, 3]", "shards[0]: boxes[0]: [3, 3] is empty"},
           Case{"[3, 6]", "[3, 4.5]",
                "shards[0]: boxes[0]: 4.5 is not in [0, 7)"},
           Case{"\"device\": 5", "\"device\": 3",
                "devices[1]: device: 3 is there twice"},
           Case{"\"device\": 5", "\"device\": 4294967296",
                "devices[1]: device: 4294967296 is not in [0, 4294967295)"},
           Case{"\"has\": [0, 1]", "\"has\": [0, 2]",
                "devices[0]: has[1]: 2 is not in [0, 2)"},
           Case{"\"has\": [0, 1]", "\"has\": [0, 0]",
                "devices[0]: has[1]: a second shard of tensor 0"},
           Case{"\"has\": []", "\"had\": []",
                "devices[1]: has: expected a list"},
       }) {
    Status status =
        parseStateIndex(indexWith(wrong.part, wrong.other)).status();
    EXPECT_EQ(status.message(), wrong.message);
    EXPECT_EQ(status.kind(), ErrorKind::Malformed);
  }
}

TEST(WeightMap, NamesFilesBesideIt) {
  auto map = parseWeightMap(
      R"({"metadata": {}, "weight_map": {"a": "model-1.safetensors", )"
      R"("b": "model-2.safetensors", "c": "model-1.safetensors"}})");
  ASSERT_TRUE(map.ok()) << map.status().message();
  EXPECT_EQ((*map)["model-1.safetensors"],
            (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ((*map)["model-2.safetensors"], std::vector<std::string>{"b"});
}

TEST(WeightMap, WhatIsWrongIsNamed) {
  auto refusal = [](const char *json) {
    return parseWeightMap(json).status().message();
  };
  EXPECT_EQ(refusal("{"), "expected an object with a weight_map");
  EXPECT_EQ(refusal("{}"), "expected an object with a weight_map");
  EXPECT_EQ(refusal(R"({"weight_map": []})"),
            "expected an object with a weight_map");
  for (const char *place : {"1", "\"model.bin\"", "\"../m.safetensors\""})
    EXPECT_EQ(parseWeightMap(text("{\"weight_map\": {\"a\": ", place, "}}"))
                  .status()
                  .message(),
              "a: expected the name of a safetensors file");
}

} // namespace
