//===- FieldsTest.cpp - The table of a request's fields -------------------===//

#include "etc/Request/Fields.h"
#include "Support.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

using namespace etc::request;

static Request ofFile(const RequestField &field, const std::string &value) {
  return requestOf("{\"" + field.name.str() + "\": " + value + "}");
}

static Request ofOption(const RequestField &field, const std::string &text) {
  Overrides overrides;
  overrides.values[field.option()] = text;
  return llvm::cantFail(requestFromOptions(overrides));
}

TEST(Fields, NamesAndOptionsAreUnique) {
  llvm::StringSet<> names, options;
  for (const RequestField &field : requestFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name.str();
    EXPECT_TRUE(options.insert(field.option()).second) << field.option();
    if (!field.olderName.empty()) {
      EXPECT_TRUE(names.insert(field.olderName).second);
      EXPECT_TRUE(options.insert(field.olderName).second);
    }
    EXPECT_FALSE(field.help.empty()) << field.name.str();
    EXPECT_FALSE(field.valueHint().empty()) << field.name.str();
  }
  EXPECT_EQ(requestField("memory_budget").option(), "memory-budget");
  EXPECT_EQ(requestField("model.layers").option(), "layers");
}

TEST(Fields, AWordIsTheSameFromAFileAndFromAnOption) {
  for (const RequestField &field : requestFields()) {
    auto *member = std::get_if<std::string Request::*>(&field.stored);
    if (!member)
      continue;
    EXPECT_EQ(Request().**member, field.words.front());
    EXPECT_EQ(field.without(), field.words.front());
    for (llvm::StringRef word : field.words) {
      EXPECT_EQ(ofFile(field, "\"" + word.str() + "\"").**member, word);
      EXPECT_EQ(ofOption(field, word.str()).**member, word);
    }
  }
}

TEST(Fields, ANumberIsTheSameFromAFileAndFromAnOption) {
  for (const RequestField &field : requestFields())
    if (auto *member = std::get_if<int64_t Request::*>(&field.stored)) {
      EXPECT_EQ(ofFile(field, "77").**member, 77);
      EXPECT_EQ(ofOption(field, "77").**member, 77);
    }
}

TEST(Fields, DevicesAreTheSameFromAFileAndFromAnOption) {
  for (const RequestField &field : requestFields())
    if (auto *member =
            std::get_if<std::vector<int64_t> Request::*>(&field.stored)) {
      EXPECT_EQ(ofFile(field, "[3, 1]").**member, (std::vector<int64_t>{1, 3}));
      EXPECT_EQ(ofOption(field, "3,1").**member, (std::vector<int64_t>{1, 3}));
      EXPECT_EQ(ofOption(field, "").**member, std::vector<int64_t>());
    }
}

TEST(Fields, AnOlderNameIsTheSameField) {
  Request request = requestOf("{\"leaving\": [3, 1]}");
  EXPECT_EQ(request.draining, (std::vector<int64_t>{1, 3}));
  EXPECT_TRUE(request.isGiven("draining"));
  EXPECT_EQ(
      show(parseRequest("{\"draining\": [1], \"leaving\": [2]}", "r.json")),
      "exit 2: r.json:1:30: error: leaving: is the same field as "
      "\"draining\"; give one of them");
}

TEST(Fields, ARequestKnowsWhereItsFieldsStand) {
  Request request = requestOf("{\"failed\": [1],\n \"place\": \"any\"}");
  EXPECT_TRUE(request.isGiven("failed"));
  EXPECT_FALSE(request.isGiven("draining"));
  EXPECT_EQ(request.whereOf("place").line, 2u);
  EXPECT_EQ(request.whereOf("place").column, 11u);
  EXPECT_EQ(request.whereOf("draining").line, 1u) << "where the request begins";
  Overrides overrides;
  overrides.values["place"] = "tp";
  ASSERT_EQ(show(applyOverrides(request, overrides)), "");
  EXPECT_TRUE(request.whereOf("place").isCommandLine());
}

TEST(Fields, TheTableAsJson) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeRequestFields(os);
  auto table = llvm::json::parse(text);
  ASSERT_TRUE(bool(table));
  ASSERT_EQ(table->getAsArray()->size(), requestFields().size());
  for (const llvm::json::Value &value : *table->getAsArray()) {
    const llvm::json::Object &row = *value.getAsObject();
    const bool isKeyword =
        *row.getBoolean("in_file") && !row.getString("name")->contains('.');
    EXPECT_TRUE(!isKeyword || !row.getString("python")->empty())
        << row.getString("name")->str();
  }
}
