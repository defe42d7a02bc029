//===- JsonTest.cpp - Malformed JSON and where it stands ------------------===//

#include "Support.h"

using namespace etc::request;

TEST(Json, TruncatedTextIsReportedAtItsEnd) {
  EXPECT_EQ(errorOf("{\"prev\": "),
            "exit 2: r.json:1:10: error: malformed JSON: unexpected end of "
            "input; expected '[', '{', or a literal");
  EXPECT_EQ(errorOf("{\n  \"prev\": \"PP1"),
            "exit 2: r.json:2:15: error: malformed JSON: invalid string: "
            "missing closing quote; last read: '\"PP1'");
  EXPECT_EQ(errorOf(""), "exit 2: r.json:1:1: error: malformed JSON: "
                         "unexpected end of input; expected '[', '{', or a "
                         "literal");
}

TEST(Json, StrayCharactersAreReportedWhereTheyStand) {
  EXPECT_EQ(errorOf("{\"prev\": \"PP1\",\n}"),
            "exit 2: r.json:2:1: error: malformed JSON: unexpected '}'; "
            "expected string literal");
  EXPECT_EQ(errorOf("{} x"), "exit 2: r.json:1:4: error: malformed JSON: "
                             "invalid literal; last read: '{} x'; expected "
                             "end of input");
  EXPECT_EQ(errorOf("{\"prev\": 1e999}"),
            "exit 2: r.json:1:14: error: malformed JSON: number overflow "
            "parsing '1e999'");
  EXPECT_EQ(errorOf("{\"prev\": \"\xff\"}"),
            "exit 2: r.json:1:11: error: malformed JSON: invalid string: "
            "ill-formed UTF-8 byte; last read: '\"\xff'");
}

TEST(Json, AKeyStandsOnce) {
  EXPECT_EQ(errorOf("{\"prev\": {\"tp\": 1,\n \"tp\": 2}}"),
            "exit 2: r.json:2:2: error: prev.tp: stands twice in one object; "
            "give it once");
  EXPECT_EQ(errorOf("{\"types\": [], \"types\": []}"),
            "exit 2: r.json:1:15: error: types: stands twice in one object; "
            "give it once");
}

TEST(Json, DeepNestingIsRefused) {
  EXPECT_EQ(errorOf(std::string(100000, '[')),
            "exit 2: r.json:1:33: error: nested deeper than 32 levels; no "
            "request needs that");
}

// Values after numbers (whose end the parser sees one character late), escapes,
// nested ends and a byte order mark are where positions could slip.
TEST(Json, PositionsAreThoseOfValues) {
  EXPECT_EQ(errorOf("{\"prev\": {\"pp\":2 ,\"tp\" : \"x\"}}"),
            "exit 2: r.json:1:26: error: prev.tp: expected a positive integer, "
            "got \"x\"");
  EXPECT_EQ(errorOf("{\"failed\":[1,2,-3]}"),
            "exit 2: r.json:1:16: error: failed[2]: expected an integer from 0 "
            "to 1048575, got -3");
  EXPECT_EQ(errorOf("{\"failed\":[1],\"types\":[\n\t\"\\u0070aram\", 7]}"),
            "exit 2: r.json:2:16: error: types[1]: expected a string, got 7");
  EXPECT_EQ(errorOf("\xEF\xBB\xBF{\"curr\": null}"),
            "exit 2: r.json:1:10: error: curr: expected a configuration such "
            "as \"PP4TP2\" or an object, got null");
  EXPECT_EQ(errorOf("\n\n  []"),
            "exit 2: r.json:3:3: error: expected an object, got an array");
}

TEST(Json, AnErrorIsOneShortLine) {
  EXPECT_EQ(errorOf("{\"prev\": {\"a\\n\": 1}}"),
            "exit 2: r.json:1:11: error: prev: unknown field \"a\\x0A\"; "
            "accepted: pp, tp, dp, cp, ep, etp, vpp, fsdp, parallel, "
            "megatron_args, order, "
            "layers_per_stage, first_stage_layers, last_stage_layers, "
            "account_for_embedding, account_for_loss, pipeline_layout, "
            "mtp_stage, devices, distributed_optimizer, bucket_size, "
            "inventory, plan");
  EXPECT_EQ(errorOf("{\"" + std::string(10000, 'a')),
            "exit 2: r.json:1:10003: error: malformed JSON: invalid string: "
            "missing closing quote");
}
