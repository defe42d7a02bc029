//===- ParallelismTest.cpp - The shorthand of a configuration -------------===//

#include "Support.h"

using namespace etc::config;

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
  EXPECT_EQ(parse("TP2CP1EP1ETP1VPP1"), (Parallelism{1, 2, 1}));
}

TEST(Parallelism, PrintsWhatIsNotOne) {
  EXPECT_EQ((Parallelism{4, 2, 3}).str(), "PP4TP2DP3");
  EXPECT_EQ((Parallelism{1, 8, 1}).str(), "TP8");
  EXPECT_EQ(Parallelism().str(), "PP1");
  EXPECT_EQ((Parallelism{4, 2, 3}).world(), 24);
}

TEST(Parallelism, Errors) {
  EXPECT_EQ(errorFor(""), "exit 2: etc-opt: error: --prev: expected a "
                          "configuration such as PP4TP2DP3, got \"\"");
  EXPECT_EQ(errorFor("4x2"), "exit 2: etc-opt: error: --prev: expected a "
                             "configuration such as PP4TP2DP3, got \"4x2\"");
  EXPECT_EQ(errorFor("PPP4"),
            "exit 2: etc-opt: error: --prev: unknown dimension \"PPP\" in "
            "\"PPP4\"; did you mean \"PP\"? accepted: PP, TP, DP, CP, EP, ETP, "
            "VPP");
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
  EXPECT_EQ(errorFor("PP4CP2"),
            "exit 2: etc-opt: error: --prev: cp: 2 is not supported yet; this "
            "version plans pp, tp and dp");
  EXPECT_EQ(errorFor("last.etcplan"),
            "exit 2: etc-opt: error: --prev: an inventory or a plan is not "
            "supported yet; expected a configuration such as PP4TP2DP3, got "
            "\"last.etcplan\"");
}
