// The etc-run binary as a user meets it.

#include "EtcRunFixture.h"

#include <nlohmann/json.hpp>

#include <set>
#include <sstream>

using namespace etc::plan::test;
using namespace etc::run::test;

namespace {

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
                                   " (plan format 2, revision "));
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
                "2.19.1 or later, or name its file in ETC_NCCL"},
           Case{"ETC_DOUBLE_NCCL_VERSION=21805 ETC_NCCL=" ETC_GPU_DOUBLE,
                "--transport=nccl --launch=4",
                "NCCL 2.18.5 in " ETC_GPU_DOUBLE " is too old; install NCCL "
                "2.19.1 or later, or name its file in ETC_NCCL"},
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

/// GPUs of the double. Even they need kernels in the build.
class EtcRunGpu : public EtcRun {
protected:
  void SetUp() override {
    EtcRun::SetUp();
    Ended ended = migrate("");
    if (ended.out.find("built without GPU kernels") != std::string::npos)
      GTEST_SKIP() << ended.out;
  }

  Ended migrate(const std::string &environment) {
    return shell(environment +
                 " ETC_CUDA_DRIVER=" ETC_GPU_DOUBLE " " ETC_RUN_BINARY
                 " --memory=cuda " +
                 write(twoStagePlan()));
  }
};

TEST_F(EtcRunGpu, OldGpusHaveNoKernels) {
  Ended ended = migrate("ETC_DOUBLE_CAPABILITY=75");
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.out.find("no kernels for a GPU of compute capability 7.5: "
                           "this build has sm_80"),
            std::string::npos)
      << ended.out;
}

TEST_F(EtcRunGpu, VirtualDevicesRun) {
  Ended ended = migrate("");
  EXPECT_EQ(ended.code, 0) << ended.out;
  EXPECT_NE(ended.out.find(kVerified), std::string::npos) << ended.out;
}

TEST_F(EtcRunGpu, ThreadsTakeAllGpus) {
  // The place that a launcher gave to this process is not its threads'.
  Ended ended = migrate("LOCAL_RANK=0 ETC_DOUBLE_GPUS=2 ETC_DOUBLE_LOST_GPU=1");
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

TEST_F(EtcRun, RefusesWhatIsNoFileAtOnce) {
  const std::string plan = write(twoStagePlan());
  const std::string journal = directory / "journal", in = directory / "in";
  ASSERT_EQ(run("--journal=" + journal + " " + plan).code, 0);
  struct Case {
    std::string file, arguments;
  };
  for (const Case &input : {
           Case{directory / "cluster",
                "--dry-run --cluster=" + (directory / "cluster").string() +
                    " " + plan},
           Case{in + "/param.safetensors", "--in=" + in + " " + plan},
           Case{in + "/inventory.json", "--in=" + in + " " + plan},
           Case{journal + "/device-0.journal", "status " + journal},
           Case{journal + "/options", "status " + journal},
       })
    for (auto [kind, make] :
         {std::pair("FIFO", "mkfifo "), std::pair("directory", "mkdir "),
          std::pair("device", "ln -s /dev/zero ")}) {
      std::filesystem::remove_all(in);
      std::filesystem::create_directory(in);
      std::filesystem::remove_all(input.file);
      ASSERT_EQ(shell(make + input.file).code, 0);
      const Ended ended =
          shell("(ulimit -v 2000000; exec timeout 60 " ETC_RUN_BINARY " " +
                input.arguments + ")");
      EXPECT_EQ(ended.code, 2) << ended.out;
      EXPECT_EQ(ended.out, "etc-run: " + input.file +
                               ": expected a regular file, got a " + kind +
                               "\n");
    }
}

TEST_F(EtcRun, OneOfSeveralStartsGetsTheDirectory) {
  const std::string journal = directory / "journal";
  const std::string out = directory / "out";
  const std::string start = ETC_RUN_BINARY " --journal=" + journal + " " +
                            write(twoStagePlan()) + " >" + out;
  const Ended ended =
      shell("for i in 1 2 3 4; do (" + start + "$i 2>&1; echo \"exit $?\" >>" +
            out + "$i) & done; wait; cat " + out + "?");
  std::istringstream lines(ended.out);
  int winners = 0, losers = 0;
  for (std::string line; std::getline(lines, line);) {
    winners += line == "exit 0";
    losers += line == "exit 2";
    if (!line.starts_with("etc-run: "))
      continue;
    EXPECT_TRUE(line.starts_with("etc-run: " + journal +
                                 ": holds the journal "
                                 "of a migration") ||
                line == "etc-run: " + journal +
                            ": a process still has this "
                            "journal; end it first")
        << line;
  }
  EXPECT_EQ(winners, 1) << ended.out;
  EXPECT_EQ(losers, 3) << ended.out;
}

TEST_F(EtcRun, SaysThatItMigratedWhereItCannotReport) {
  const std::string plan = write(twoStagePlan());
  const std::string noRoom = "No space left on device";
  Ended ended = run("--report=/dev/full " + plan);
  EXPECT_EQ(ended.code, 4) << ended.out;
  EXPECT_NE(ended.out.find("etc-run: migrated, but --report=/dev/full: cannot "
                           "write"),
            std::string::npos)
      << ended.out;
  for (const char *option : {"--json ", ""}) {
    ended = shell("(" ETC_RUN_BINARY " " + std::string(option) + plan +
                  " 2>&1 >/dev/full)");
    EXPECT_EQ(ended.code, 4) << ended.out;
    EXPECT_EQ(ended.out, "etc-run: migrated, but cannot write to the standard "
                         "output: " +
                             noRoom + "\n");
  }
  ended = shell("(" ETC_RUN_BINARY " --dry-run " + plan + " 2>&1 >/dev/full)");
  EXPECT_EQ(ended.code, 2) << ended.out;
}

TEST_F(EtcRun, RefusesOutputsThatAreNoFiles) {
  const std::string plan = write(twoStagePlan());
  const std::string fifo = directory / "fifo", folder = directory / "folder";
  ASSERT_EQ(shell("mkfifo " + fifo + " && mkdir " + folder).code, 0);
  const std::string regular = ": expected a regular file, got a ";
  struct Case {
    std::string option, message;
  };
  for (const Case &wrong : {
           Case{"--trace=" + fifo, fifo + regular + "FIFO"},
           Case{"--trace=" + folder, folder + regular + "directory"},
           Case{"--trace=/dev/full", "/dev/full" + regular + "device"},
           Case{"--report=" + fifo, "--report=" + fifo + regular + "FIFO"},
           Case{"--report=" + folder,
                "--report=" + folder + regular + "directory"},
           Case{"--out=" + fifo, fifo + ": cannot make it: Not a directory"},
           Case{"--out=/dev/full",
                "/dev/full: cannot make it: Not a directory"},
       }) {
    const Ended ended =
        shell("timeout 60 " ETC_RUN_BINARY " " + wrong.option + " " + plan);
    EXPECT_EQ(ended.code, 2) << ended.out;
    EXPECT_EQ(ended.out, "etc-run: " + wrong.message + "\n");
  }
}

/// What is migrated and then cannot be written, beyond `ulimit -f`.
void expectUntold(const std::string &options, const std::string &message) {
  const Ended ended =
      shell("(ulimit -f 0; exec " ETC_RUN_BINARY " " + options + ")");
  EXPECT_EQ(ended.code, 4) << ended.out;
  EXPECT_NE(ended.out.find(message), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("wrote the files"), std::string::npos) << ended.out;
}

TEST_F(EtcRun, SaysThatItMigratedWhereItCannotWriteTheState) {
  const std::string out = directory / "out";
  expectUntold("--out=" + out + " " + write(twoStagePlan()),
               "etc-run: migrated, but " + out + "/device-");
}

TEST_F(EtcRunGloo, SaysThatItMigratedWhereItCannotWrite) {
  const std::string out = directory / "out", plan = write(twoStagePlan());
  const std::string launch = "--transport=gloo --launch=4 ";
  expectUntold(launch + "--out=" + out + " " + plan,
               "etc-run: migrated, but " + out + "/device-");
  const std::string trace = directory / "trace";
  expectUntold(launch + "--trace=" + trace + " " + plan,
               "etc-run: migrated, but " + trace +
                   ".0: cannot write: File too "
                   "large");
}

TEST_F(EtcRun, AClosedPipeIsAnError) {
  const Ended ended =
      shell("bash -c '(sleep 0.2; " ETC_RUN_BINARY " --json " +
            write(twoStagePlan()) + " 2>&3; echo exit $? >&3) 3>&2 | true'");
  EXPECT_EQ(ended.out, "etc-run: migrated, but cannot write to the standard "
                       "output: Broken pipe\nexit 4\n");
}

TEST_F(EtcRun, AFileSizeLimitIsAnError) {
  const std::string journal = directory / "journal";
  Ended ended = shell("(ulimit -f 0; " ETC_RUN_BINARY " --journal=" + journal +
                      " " + write(twoStagePlan()) + ")");
  EXPECT_EQ(ended.code, 2) << ended.out;
  EXPECT_NE(ended.out.find("cannot write: File too large"), std::string::npos)
      << ended.out;
  EXPECT_FALSE(std::filesystem::exists(journal)) << "a refusal left it";
}

TEST_F(EtcRun, RunningOutOfMemoryIsOneLine) {
  // From too little to be loaded to enough for all threads.
  const std::string plan = write(twoStagePlan());
  for (int kilobytes = 20'000; kilobytes <= 60'000; kilobytes += 1'000) {
    Ended ended = shell("(ulimit -v " + std::to_string(kilobytes) +
                        "; exec " ETC_RUN_BINARY " " + plan + ")");
    if (ended.code == 0 || ended.code == 127) // migrated, or was not loaded
      continue;
    SCOPED_TRACE(kilobytes);
    EXPECT_TRUE(ended.code == 2 || ended.code == 3) << ended.out;
    EXPECT_TRUE(ended.out.starts_with("etc-run: ")) << ended.out;
    EXPECT_EQ(ended.out.find('\n'), ended.out.size() - 1) << ended.out;
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
  auto &program = b.program(std::nullopt, std::nullopt, {0}, {});
  program.prev_shards = program.curr_shards = {shard};
  b.round(program, {refer(w, b.box({{0, rows}}))});
  program.peak = program.peak_safe = 2 * rows;
  b.plan.nodes = {1};
  b.plan.prev = grid(1, 1, 1);
  b.plan.curr = grid(1, 1, 1);
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

} // namespace
