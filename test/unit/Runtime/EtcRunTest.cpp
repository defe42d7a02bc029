// The etc-run binary as a user meets it.

#include "PlanFixture.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace etc::plan::test;

namespace {

struct Ended {
  int code;
  std::string out; // stdout and stderr
};

Ended shell(const std::string &command) {
  FILE *pipe = ::popen((command + " 2>&1").c_str(), "r");
  Ended ended{-1, {}};
  char buffer[4096];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
    ended.out.append(buffer, count);
  int state = ::pclose(pipe);
  ended.code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  return ended;
}

class EtcRun : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-run-test-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::string write(etc::plan::fb::PlanT plan) {
    auto bytes = etc::plan::packPlan(std::move(plan));
    std::string path = directory / "m.etcplan";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    return path;
  }

  Ended run(const std::string &arguments) {
    return shell("TMPDIR=" + directory.string() + " " ETC_RUN_BINARY " " +
                 arguments);
  }

  std::filesystem::path directory;
};

/// Tests of processes need a build with Gloo.
class EtcRunGloo : public EtcRun {
protected:
  void SetUp() override {
    EtcRun::SetUp();
    if (!ETC_TEST_GLOO)
      GTEST_SKIP() << "built without Gloo";
  }
};

const char kVerified[] = "verified: every element on every device, bit for bit";

TEST_F(EtcRun, MigratesLocally) {
  Ended ended = run(write(twoStagePlan()));
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_NE(ended.out.find(kVerified), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("device   sent  received"), std::string::npos)
      << ended.out;
}

TEST_F(EtcRun, WritesJson) {
  Ended ended = run("--json " + write(twoStagePlan()));
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_NE(ended.out.find("\"moved_bytes\": 160"), std::string::npos);
  EXPECT_NE(ended.out.find("\"verified\": true"), std::string::npos);
  ended = run("--json --verify=off " + write(twoStagePlan()));
  EXPECT_NE(ended.out.find("\"verified\": null"), std::string::npos);
}

TEST_F(EtcRun, ExplainsItself) {
  Ended ended = run("--help");
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out.substr(0, 30), "usage: etc-run [options] PLAN\n");
  EXPECT_EQ(run("--version").out,
            "etc-run " ETC_TEST_VERSION " (plan format 1)\n");
}

TEST_F(EtcRun, RefusesWrongUse) {
  struct Case {
    const char *arguments, *message;
  };
  for (const Case &wrong : {
           Case{"", "no plan given; try: etc-run m.etcplan (etc-opt "
                    "--emit=plan writes one, etc-run --help says more)"},
           Case{"--fast m", "unknown option --fast; etc-run --help lists all"},
           Case{"--transport=nccl m",
                "--transport=nccl: expected --transport=local|gloo"},
           Case{"--timeout=soon m",
                "--timeout=soon: expected --timeout=SECONDS"},
           Case{"--launch=2 m",
                "--launch needs --transport=gloo; without both, every device "
                "is a thread of this process"},
           Case{"--launch", "--launch needs a value: --launch=N"},
           Case{"--json=1 m", "--json takes no value"},
           Case{"a b", "one plan at a time: a and b"},
           Case{"/nonexistent/m",
                "/nonexistent/m: cannot open: No such file or directory"},
       }) {
    Ended ended = run(wrong.arguments);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "etc-run: " + std::string(wrong.message) + "\n");
  }
}

TEST_F(EtcRun, RefusesABrokenPlan) {
  etc::plan::fb::PlanT plan = twoStagePlan();
  plan.programs[0]->peak = 1;
  std::string path = write(std::move(plan));
  Ended ended = run(path);
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "etc-run: " + path +
                           ": programs[0]: peak is 160 bytes in round 0, the "
                           "plan states 1\n");
}

TEST_F(EtcRun, RefusesWhatDoesNotFit) {
  // One parameter of 2^40 elements that stays where it is.
  PlanBuilder b;
  constexpr int64_t rows = int64_t{1} << 40;
  uint32_t w = b.tensor("w", "param", etc::plan::fb::DType::bf16, {rows});
  uint32_t shard = b.shard(w, {{{0, rows}}});
  auto &program = b.program("all", {0}, {});
  program.prev_shards = program.curr_shards = {shard};
  b.round(program, {refer(w, b.box({{0, rows}}))});
  program.peak = program.peak_safe = 2 * rows;
  b.plan.nodes = {1};
  b.plan.prev_world = b.plan.curr_world = 1;
  b.plan.participants = b.plan.prev_placement = b.plan.curr_placement = {0};
  b.forecast(0, 0);
  b.plan.summary = std::make_unique<etc::plan::fb::SummaryT>();
  b.plan.summary->kept_bytes = 2 * rows;
  Ended ended = run(write(std::move(b.plan)));
  EXPECT_EQ(ended.code, 2);
  std::string start = "etc-run: needs 2.2 TB of host memory for 1 device, ";
  EXPECT_EQ(ended.out.substr(0, start.size()), start);
  EXPECT_NE(ended.out.find(" are available; plan a smaller model, for example "
                           "--model="),
            std::string::npos)
      << ended.out;
}

TEST_F(EtcRunGloo, LaunchesProcesses) {
  for (auto plan : {twoStagePlan(), relayPlan()}) {
    auto count = std::to_string(plan.participants.size());
    Ended ended = run("--launch=" + count + " --transport=gloo --timeout=30 " +
                      write(std::move(plan)));
    EXPECT_EQ(ended.code, 0) << ended.out;
    EXPECT_NE(ended.out.find(kVerified), std::string::npos) << ended.out;
  }
  // Nothing but the plan is left in the temporary directory.
  for (const auto &entry : std::filesystem::directory_iterator(directory))
    EXPECT_EQ(entry.path().filename(), "m.etcplan");
}

/// The children that a process has by now, where the kernel tells.
std::vector<pid_t> childrenOf(pid_t pid) {
  std::string task = "/proc/" + std::to_string(pid) + "/task/";
  std::ifstream file(task + std::to_string(pid) + "/children");
  std::vector<pid_t> children;
  for (pid_t child; file >> child;)
    children.push_back(child);
  return children;
}

TEST_F(EtcRunGloo, AKilledProcessEndsTheRun) {
  if (!std::filesystem::exists("/proc/self/task/" + std::to_string(::getpid()) +
                               "/children"))
    GTEST_SKIP() << "the kernel does not list children";
  std::string plan = write(twoStagePlan()), log = directory / "log";
  pid_t parent = ::fork();
  if (parent == 0) {
    ::setenv("TMPDIR", directory.c_str(), 1);
    if (!std::freopen(log.c_str(), "w", stderr))
      ::_exit(127);
    ::execl(ETC_RUN_BINARY, "etc-run", "--launch=4", "--transport=gloo",
            "--timeout=30", plan.c_str(), nullptr);
    ::_exit(127);
  }
  // They cannot finish without the last one, which dies as soon as it is there.
  std::vector<pid_t> children;
  int state = 0;
  while (children.size() < 4 && ::waitpid(parent, &state, WNOHANG) == 0)
    children = childrenOf(parent);
  ASSERT_EQ(children.size(), 4u);
  ::kill(children.back(), SIGKILL);
  ASSERT_EQ(::waitpid(parent, &state, 0), parent);
  EXPECT_EQ(WEXITSTATUS(state), 3);
  std::stringstream message;
  message << std::ifstream(log).rdbuf();
  EXPECT_EQ(message.str(),
            "etc-run: device 3: before the first round: killed by signal 9\n");
  for (pid_t child : children)
    EXPECT_NE(::kill(child, 0), 0) << "left over";
}

TEST_F(EtcRunGloo, CountsProcesses) {
  Ended ended = run("--launch=8 --transport=gloo " + write(twoStagePlan()));
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "etc-run: the plan needs 4 processes (its "
                       "participants), --launch=8 starts 8; use --launch=4\n");
}

TEST_F(EtcRunGloo, RunsUnderALauncher) {
  std::string plan = write(twoStagePlan());
  std::string meeting = directory / "meeting";
  std::filesystem::create_directory(meeting);
  std::string command;
  for (int rank = 3; rank >= 0; --rank)
    command += "RANK=" + std::to_string(rank) +
               " WORLD_SIZE=4 " ETC_RUN_BINARY
               " --transport=gloo --timeout=30 --host=127.0.0.1 --rendezvous=" +
               meeting + " " + plan + (rank > 0 ? " & " : "; wait");
  Ended ended = shell("(" + command + ")");
  EXPECT_NE(ended.out.find(kVerified), std::string::npos) << ended.out;
  EXPECT_TRUE(std::filesystem::is_empty(meeting));
}

TEST_F(EtcRunGloo, MissingPeersEndTheRun) {
  std::string command = "RANK=0 WORLD_SIZE=4 " ETC_RUN_BINARY
                        " --transport=gloo --timeout=1 --host=127.0.0.1 "
                        "--rendezvous=" +
                        directory.string() + " " + write(twoStagePlan());
  Ended ended = shell(command);
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.out, "etc-run: not all of the 4 processes met in " +
                           directory.string() +
                           " within 1 s; missing: ranks 1, 2, 3\n");
}

} // namespace
