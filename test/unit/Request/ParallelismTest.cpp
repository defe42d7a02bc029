//===- ParallelismTest.cpp - The shorthand of a configuration -------------===//

#include "Support.h"

using namespace etc::request;

static const Field prevOption = {{"etc-opt", 0, 0}, "--prev"};

static std::string errorFor(llvm::StringRef text) {
  return show(parseParallelism(text, prevOption));
}

static Parallelism parse(llvm::StringRef text) {
  return llvm::cantFail(parseParallelism(text, prevOption));
}

TEST(Parallelism, Shorthand) {
  EXPECT_EQ(parse("PP4TP2DP3"), (Parallelism{4, 2, 3}));
  EXPECT_EQ(parse("dp3TP2"), (Parallelism{1, 2, 3}));
  EXPECT_EQ(parse("PP1"), Parallelism());
  EXPECT_EQ(parse("TP2CP1EP1VPP1"), (Parallelism{1, 2, 1}));
  EXPECT_EQ(parse("PP2TP2DP4CP2EP8ETP1VPP3"),
            (Parallelism{2, 2, 4, 2, 8, 1, 3}));
}

TEST(Parallelism, PrintsWhatIsNotOne) {
  EXPECT_EQ((Parallelism{4, 2, 3}).str(), "PP4TP2DP3");
  EXPECT_EQ((Parallelism{1, 8, 1}).str(), "TP8");
  EXPECT_EQ(Parallelism().str(), "PP1");
  EXPECT_EQ((Parallelism{4, 2, 3}).world(), 24);
}

TEST(Parallelism, WhatIsNotASizeFollows) {
  Parallelism parallel = parse("PP2TP2DP4+zero1+stages=5:4");
  EXPECT_TRUE(parallel.distributedOptimizer);
  EXPECT_EQ(parallel.stages, (std::vector<int64_t>{5, 4}));
  EXPECT_EQ(parallel.order, RankOrder::TpCpEpDpPp);
  EXPECT_EQ(parse("PP2+order=pp-dp").order, RankOrder::TpCpEpPpDp);
  EXPECT_EQ(parse("PP2+mtp=0").mtpStage, 0);
}

TEST(Parallelism, BucketsAreMegatronsUnlessTheyAreGiven) {
  EXPECT_EQ(parse("DP8+zero1").bucketElements(), 0);
  EXPECT_EQ(parse("DP8+zero1+buckets=100").bucketElements(), 100);
  EXPECT_EQ(parse("DP8+zero1+buckets").bucketElements(), 40'000'000);
  EXPECT_EQ(parse("DP32CP2+zero1+buckets").bucketElements(), 64'000'000);
}

TEST(Parallelism, StrIsReadBack) {
  for (llvm::StringRef text :
       {"PP1", "PP2TP2DP4CP2EP8ETP1VPP3", "PP2TP2DP4+zero1+stages=5:4",
        "PP4+stages=0:3:3:0", "DP2+zero1+buckets", "DP2+zero1+buckets=7",
        "PP2CP2EP2+zero1+order=pp-dp", "PP4+mtp=2"})
    EXPECT_EQ(parse(text).str(), text);
}

TEST(Parallelism, TheGridOfExperts) {
  Parallelism parallel = parse("TP2DP4CP2EP4ETP1");
  EXPECT_EQ(parallel.world(), 16);
  EXPECT_EQ(parallel.slots(), 4);
  EXPECT_EQ(parallel.replicas(), 4);
  EXPECT_EQ(parallel.expertDp(), 4);
  EXPECT_EQ(parse("TP2").expertTp(), 2);
  EXPECT_EQ(parse("TP6DP2EP2ETP2").slots(), 12);
}

TEST(Parallelism, ShardedReplicas) {
  EXPECT_EQ(parse("FSDP8"), (Parallelism{.dp = 8, .fsdp = 8}));
  EXPECT_EQ(parse("hsdp2X4"), (Parallelism{.dp = 8, .fsdp = 4}));
  EXPECT_EQ(parse("TP2FSDP4"), (Parallelism{.tp = 2, .dp = 4, .fsdp = 4}));
  EXPECT_EQ(parse("HSDP2x4TP2PP3").world(), 48);
  EXPECT_EQ(parse("HSDP3x1").str(), "DP3");
  for (llvm::StringRef text : {"FSDP8", "HSDP2x4", "PP2TP2FSDP4",
                               "PP2TP2HSDP2x4+stages=1:3+order=pp-dp"})
    EXPECT_EQ(parse(text).str(), text);
}

TEST(Parallelism, ErrorsOfShardedReplicas) {
  const std::string twice =
      "DP, FSDP and HSDP each count the data-parallel ranks of ";
  for (llvm::StringRef text : {"DP2FSDP4", "FSDP4DP2", "FSDP2HSDP2x2"})
    EXPECT_EQ(errorFor(text),
              "exit 2: etc-opt: error: --prev: " + twice + "\"" + text.str() +
                  "\"; give one of them, such as HSDP2x4 for 2 replicas of 4 "
                  "shards");
  EXPECT_EQ(errorFor("HSDP2"),
            "exit 2: etc-opt: error: --prev: expected the shards of each "
            "replica after HSDP2, such as HSDP2x4, in \"HSDP2\"");
  EXPECT_EQ(errorFor("FSDP0"),
            "exit 2: etc-opt: error: --prev: expected a positive integer up to "
            "1048576 after FSDP, got \"0\"");
  EXPECT_EQ(errorFor("HSDP1024x2048"),
            "exit 2: etc-opt: error: --prev: expected at most 1048576 "
            "data-parallel ranks, got 1024 x 2048");
}

TEST(Parallelism, Errors) {
  EXPECT_EQ(errorFor(""), "exit 2: etc-opt: error: --prev: expected a "
                          "configuration such as PP4TP2DP3, got \"\"");
  EXPECT_EQ(errorFor("4x2"), "exit 2: etc-opt: error: --prev: expected a "
                             "configuration such as PP4TP2DP3, got \"4x2\"");
  EXPECT_EQ(errorFor("PPP4"),
            "exit 2: etc-opt: error: --prev: unknown dimension \"PPP\" in "
            "\"PPP4\"; did you mean \"PP\"? accepted: PP, TP, DP, CP, EP, ETP, "
            "VPP, FSDP, HSDP");
  EXPECT_EQ(errorFor("PP4TP"),
            "exit 2: etc-opt: error: --prev: expected a positive integer up to "
            "1048576 after TP, got \"\"");
  EXPECT_EQ(errorFor("PP0"),
            "exit 2: etc-opt: error: --prev: expected a positive integer up to "
            "1048576 after PP, got \"0\"");
  EXPECT_EQ(errorFor("PP4,TP2"),
            "exit 2: etc-opt: error: --prev: expected a positive integer up to "
            "1048576 after PP, got \"4,\"");
  EXPECT_EQ(errorFor("TP99999999999999999999"),
            "exit 2: etc-opt: error: --prev: expected a positive integer up to "
            "1048576 after TP, got \"99999999999999999999\"");
  EXPECT_EQ(errorFor("PP4PP2"),
            "exit 2: etc-opt: error: --prev: PP stands twice in \"PP4PP2\"; "
            "give every dimension once");
  EXPECT_EQ(errorFor("PP4+zero2"),
            "exit 2: etc-opt: error: --prev: unknown option \"+zero2\" in "
            "\"PP4+zero2\"; accepted: +zero1, +buckets, +buckets=40000000, "
            "+stages=7:8:8:7, +order=pp-dp, +mtp=0");
  EXPECT_EQ(errorFor("DP4+zero1+buckets=0"),
            "exit 2: etc-opt: error: --prev: expected a positive integer, "
            "got 0");
  EXPECT_EQ(errorFor("PP2+stages=4:x"),
            "exit 2: etc-opt: error: --prev: expected the layers of every "
            "stage after stages=, such as 7:8:8:7, got \"4:x\"");
  EXPECT_EQ(errorFor("PP4+zero1+zero1"),
            "exit 2: etc-opt: error: --prev: zero1 stands twice in "
            "\"PP4+zero1+zero1\"; give every option once");
}
