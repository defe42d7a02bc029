// The etc-run binary as a user meets it.

#include "PlanFixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
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
  EXPECT_TRUE(run("--version")
                  .out.starts_with("etc-run " ETC_TEST_VERSION
                                   " (plan format 1, revision "));
}

TEST_F(EtcRun, RefusesWrongUse) {
  struct Case {
    const char *arguments, *message;
  };
  for (const Case &wrong : {
           Case{"", "no plan given; try: etc-run m.etcplan (etc-opt "
                    "--emit=plan writes one, etc-run --help says more)"},
           Case{"--fast m", "unknown option --fast; etc-run --help lists all"},
           Case{"--transport=mpi m",
                "--transport=mpi: expected --transport=local|gloo|nccl"},
           Case{"--memory=cuda --transport=gloo m",
                "--transport=gloo moves host memory; use --transport=nccl for "
                "GPUs, or --transport=local for all devices on one"},
           Case{"--timeout=soon m",
                "--timeout=soon: expected --timeout=SECONDS"},
           Case{"--launch=2 m",
                "--launch needs --transport=gloo or nccl; without both, every "
                "device is a thread of this process"},
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

/// What a dry run predicts and what a run then counts.
void expectForecast(const Ended &dry, const Ended &real) {
  ASSERT_EQ(dry.code, 0) << dry.out;
  ASSERT_EQ(real.code, 0) << real.out;
  auto predicted = nlohmann::json::parse(dry.out);
  auto counted = nlohmann::json::parse(real.out);
  EXPECT_EQ(predicted["moved_bytes"], counted["moved_bytes"]);
  EXPECT_EQ(predicted["internode_bytes"], counted["internode_bytes"]);
  ASSERT_EQ(predicted["devices"].size(), counted["devices"].size());
  for (size_t i = 0; i != predicted["devices"].size(); ++i)
    for (auto &[name, value] : predicted["devices"][i].items()) {
      if (name == "node") // known from the plan
        continue;
      EXPECT_EQ(value, counted["devices"][i][name]) << name << " of " << i;
    }
}

TEST_F(EtcRun, PredictsBytesAndPeakExactly) {
  for (auto plan : {twoStagePlan(), relayPlan()}) {
    std::string path = write(std::move(plan));
    expectForecast(run("--dry-run --json " + path), run("--json " + path));
  }
}

TEST_F(EtcRunGloo, PredictsBytesAndPeakExactly) {
  std::string path = write(twoStagePlan());
  expectForecast(run("--dry-run --transport=gloo --json " + path),
                 run("--transport=gloo --launch=4 --json " + path));
}

/// Steps of a trace: 4 devices, 2 rounds, 5 steps each.
void expectTrace(const std::string &path) {
  auto trace = nlohmann::json::parse(std::ifstream(path));
  std::set<std::tuple<uint32_t, uint32_t, std::string>> steps;
  for (const auto &event : trace["traceEvents"])
    if (event["ph"] == "X")
      steps.emplace(event["tid"], event["args"]["round"], event["name"]);
  EXPECT_EQ(steps.size(), 4u * 2 * 5);
  EXPECT_TRUE(steps.contains({3, 1, "unpack"}));
}

TEST_F(EtcRun, WritesATrace) {
  std::string trace = directory / "trace.json", plan = write(twoStagePlan());
  EXPECT_EQ(run("--trace=" + trace + " " + plan).code, 0);
  expectTrace(trace);
  EXPECT_EQ(run("--trace=/nonexistent/t " + plan).out,
            "etc-run: /nonexistent/t: cannot write; name a file in a folder "
            "that exists\n");
}

TEST_F(EtcRunGloo, WritesATrace) {
  std::string trace = directory / "trace.json", plan = write(twoStagePlan());
  EXPECT_EQ(
      run("--transport=gloo --launch=4 --trace=" + trace + " " + plan).code, 0);
  expectTrace(trace);
  EXPECT_FALSE(std::filesystem::exists(trace + ".0"));
}

TEST_F(EtcRun, PredictsTheTimeOnACluster) {
  std::string cluster = directory / "cluster.json";
  std::ofstream(cluster) << R"({"name": "mine",
    "link": {"bytes_per_second": 16, "latency_seconds": 1},
    "port": {"per_node": 1, "bytes_per_second": 1, "latency_seconds": 1},
    "pack": {"bytes_per_second": 32}})";
  Ended ended =
      run("--dry-run --cluster=" + cluster + " " + write(relayPlan()));
  EXPECT_EQ(ended.out, "moves inside nodes   64 B\n"
                       "moves between nodes  0 B\n"
                       "peak of a device     48 B\n"
                       "time                 11.0000 s on mine\n"
                       "busiest port         2.0000 s at its full rate\n");
  ended = run("--cluster=" + cluster + " m");
  EXPECT_EQ(ended.out, "etc-run: --cluster is where --dry-run computes the "
                       "time; add --dry-run, or --report=FILE\n");
}

TEST_F(EtcRun, SaysWhatNcclMisses) {
  const std::string plan = write(twoStagePlan());
  struct Case {
    const char *environment, *options, *message;
  };
  const char *twin = "ETC_CUDA_DRIVER=" ETC_GPU_DOUBLE " ";
  for (const Case &missing : {
           Case{"ETC_CUDA_DRIVER=/nonexistent/cuda.so",
                "--transport=nccl --launch=4",
                "no CUDA driver (/nonexistent/cuda.so cannot be loaded); "
                "install NVIDIA's, or use --transport=gloo or local with host "
                "memory"},
           Case{"ETC_CUDA_DRIVER=/nonexistent/cuda.so", "--memory=cuda",
                "no CUDA driver (/nonexistent/cuda.so cannot be loaded); "
                "install NVIDIA's, or use --transport=gloo or local with host "
                "memory"},
           Case{"ETC_NCCL=/nonexistent/nccl.so", "--transport=nccl --launch=4",
                "no NCCL (/nonexistent/nccl.so cannot be loaded); install NCCL "
                "2.28.0 or later, or name its file in ETC_NCCL"},
           Case{"ETC_DOUBLE_NCCL_VERSION=22705 ETC_NCCL=" ETC_GPU_DOUBLE,
                "--transport=nccl --launch=4",
                "NCCL in " ETC_GPU_DOUBLE " is version 2.27.5; install NCCL "
                "2.28.0 or later, or name its file in ETC_NCCL"},
           Case{"ETC_DOUBLE_GPUS=0", "--memory=cuda",
                "no GPU on this machine; use --memory=host with "
                "--transport=gloo or local"},
       }) {
    Ended ended = shell(twin + std::string(missing.environment) + " " +
                        ETC_RUN_BINARY " " + missing.options + " " + plan);
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "etc-run: " + std::string(missing.message) + "\n");
  }
}

TEST_F(EtcRun, VirtualDevicesRunOverTheDouble) {
  Ended ended = shell("ETC_CUDA_DRIVER=" ETC_GPU_DOUBLE " " ETC_RUN_BINARY
                      " --memory=cuda " +
                      write(twoStagePlan()));
  if (ended.out.find("built without nvcc") != std::string::npos)
    GTEST_SKIP() << ended.out;
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_NE(ended.out.find(kVerified), std::string::npos) << ended.out;
}

TEST_F(EtcRun, ThreadsTakeAllGpus) {
  // The place that a launcher gave to this process is not its threads'.
  Ended ended = shell("LOCAL_RANK=0 ETC_DOUBLE_GPUS=2 ETC_DOUBLE_LOST_GPU=1 "
                      "ETC_CUDA_DRIVER=" ETC_GPU_DOUBLE " " ETC_RUN_BINARY
                      " --memory=cuda " +
                      write(twoStagePlan()));
  EXPECT_NE(ended.code, 0);
  EXPECT_NE(ended.out.find("invalid argument"), std::string::npos) << ended.out;
}

TEST_F(EtcRun, AnEarlierAttemptKeepsItsMode) {
  const std::string journal = directory / "journal";
  ASSERT_EQ(
      run("--mode=safe --journal=" + journal + " " + write(twoStagePlan()))
          .code,
      0);
  for (const char *verb : {"resume ", "rollback "}) {
    Ended ended = run(verb + journal + " --mode=eager");
    EXPECT_EQ(ended.code, 2);
    EXPECT_EQ(ended.out, "etc-run: " + journal +
                             ": was begun with --mode=safe; leave --mode "
                             "out\n");
  }
  EXPECT_EQ(run("resume " + journal + " --mode=safe").code, 0);
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

TEST_F(EtcRunGloo, WaitsWhereChildrenAreIgnored) {
  Ended ended = shell("env --ignore-signal=CHLD " ETC_RUN_BINARY
                      " --launch=4 --transport=gloo " +
                      write(twoStagePlan()));
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_NE(ended.out.find(kVerified), std::string::npos) << ended.out;
}

TEST_F(EtcRunGloo, CountsProcesses) {
  Ended ended = run("--launch=8 --transport=gloo " + write(twoStagePlan()));
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "etc-run: the plan needs 4 processes (its "
                       "participants), --launch=8 starts 8; use --launch=4\n");
}

TEST_F(EtcRunGloo, AHostThatDoesNotResolve) {
  // No such name can exist, so no server is asked for it.
  Ended ended = run("--launch=4 --transport=gloo --host=no..host " +
                    write(twoStagePlan()));
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(
      ended.out.starts_with("etc-run: host no..host does not resolve: "))
      << ended.out;
  EXPECT_NE(ended.out.find("; set --host (in C and Python: host) to an address "
                           "of this machine that the other processes reach\n"),
            std::string::npos)
      << ended.out;
}

TEST_F(EtcRunGloo, AHostOfAnotherMachine) {
  // 192.0.2.0/24 is reserved for documentation.
  Ended ended = run("--launch=4 --transport=gloo --host=192.0.2.1 " +
                    write(twoStagePlan()));
  EXPECT_EQ(ended.code, 2);
  EXPECT_TRUE(ended.out.starts_with("etc-run: host 192.0.2.1 is 192.0.2.1, "
                                    "where this machine cannot listen: "))
      << ended.out;
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
